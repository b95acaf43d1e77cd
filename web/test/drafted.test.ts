import { expect, test } from 'vitest';
import { begin, isChanged, textOf, write, type Drafted, type Writing } from '../src/pages/agents/persona/drafted';

const at = (text: string) => ({ text, version: `v:${text}` });
const play = (...all: Writing[]): Drafted => all.reduce(write, begin(at('old')));
const typed = (text: string): Writing => ({ type: 'typed', text });
const read = (text: string): Writing => ({ type: 'read', found: at(text) });

test('what comes is shown at once while nobody has written anything', () => {
  expect(play(read('new'))).toEqual({ stored: at('new'), news: true });
  expect(play(read('old'))).toEqual({ stored: at('old'), news: false });
});

test('what a person is typing is never replaced: what came waits for a choice', () => {
  const drafted = play(typed('mine'), read('new'));
  expect(drafted).toEqual({ stored: at('old'), mine: 'mine', theirs: at('new'), news: false });
  expect(textOf(write(drafted, typed('mine too')))).toBe('mine too');
  expect(write(drafted, read('newer')).theirs).toEqual(at('newer'));
});

test('taking theirs shows it, keeping mine replaces it knowingly at the next saving', () => {
  const drafted = play(typed('mine'), read('new'));
  expect(write(drafted, { type: 'take theirs' })).toEqual({ stored: at('new'), news: false });
  expect(write(drafted, { type: 'keep mine' })).toEqual({ stored: at('new'), mine: 'mine', news: false });
});

test('a choice goes away when there is nothing left to choose', () => {
  const drafted = play(typed('mine'), read('new'));
  expect(write(drafted, read('old')).theirs).toBeUndefined();
  expect(play(typed('new'), read('new'))).toEqual({ stored: at('new'), news: false });
  expect(write(drafted, { type: 'discard' })).toEqual({ stored: at('new'), news: false });
});

test('what was typed while it was being saved is not saved yet', () => {
  const saved: Writing = { type: 'saved', saved: at('mine') };
  expect(isChanged(play(typed('mine'), saved))).toBe(false);
  const later = play(typed('mine'), typed('mine and more'), saved);
  expect([textOf(later), isChanged(later), later.stored]).toEqual(['mine and more', true, at('mine')]);
});
