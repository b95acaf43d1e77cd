import { expect, test } from 'vitest';
import {
  begin,
  isChanged,
  textOf,
  applyEdit,
  type EditedText,
  type TextEdit,
} from '../src/pages/agents/persona/editedText';

const at = (text: string) => ({ text, version: `v:${text}` });
const play = (...all: TextEdit[]): EditedText => all.reduce(applyEdit, begin(at('old')));
const typed = (text: string): TextEdit => ({ type: 'typed', text });
const read = (text: string): TextEdit => ({ type: 'read', found: at(text) });

test('what comes is shown at once while nobody has written anything', () => {
  expect(play(read('new'))).toEqual({ stored: at('new'), news: true });
  expect(play(read('old'))).toEqual({ stored: at('old'), news: false });
});

test('what a person is typing is never replaced: what came waits for a choice', () => {
  const edited = play(typed('mine'), read('new'));
  expect(edited).toEqual({ stored: at('old'), mine: 'mine', theirs: at('new'), news: false });
  expect(textOf(applyEdit(edited, typed('mine too')))).toBe('mine too');
  expect(applyEdit(edited, read('newer')).theirs).toEqual(at('newer'));
});

test('taking theirs shows it, keeping mine replaces it knowingly at the next saving', () => {
  const edited = play(typed('mine'), read('new'));
  expect(applyEdit(edited, { type: 'take theirs' })).toEqual({ stored: at('new'), news: false });
  expect(applyEdit(edited, { type: 'keep mine' })).toEqual({ stored: at('new'), mine: 'mine', news: false });
});

test('a choice goes away when there is nothing left to choose', () => {
  const edited = play(typed('mine'), read('new'));
  expect(applyEdit(edited, read('old')).theirs).toBeUndefined();
  expect(play(typed('new'), read('new'))).toEqual({ stored: at('new'), news: false });
  expect(applyEdit(edited, { type: 'discard' })).toEqual({ stored: at('new'), news: false });
});

test('what was typed while it was being saved is not saved yet', () => {
  const saved: TextEdit = { type: 'saved', saved: at('mine') };
  expect(isChanged(play(typed('mine'), saved))).toBe(false);
  const later = play(typed('mine'), typed('mine and more'), saved);
  expect([textOf(later), isChanged(later), later.stored]).toEqual(['mine and more', true, at('mine')]);
});
