import { expect, test } from 'vitest';
import { lineDiff } from '../src/ui/diff';

/** Applies a diff without headers, which shows that it is correct. */
function apply(before: string, after: string): { kept: string[]; removed: string[]; added: string[] } {
  const lines = lineDiff(before, after);
  const of = (kind: string) => lines.filter((line) => line.kind === kind).map((line) => line.text);
  return { kept: of('same'), removed: of('removed'), added: of('added') };
}

test('what changed is marked, with a little of what stands around it', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng\nh\ni';
  const after = 'a\nb\nc\nd\nE\nf\ng\nh\ni';
  const same = (text: string) => ({ kind: 'same', text });
  expect(lineDiff(before, after)).toEqual([
    { kind: 'hunk', text: '@@' },
    ...['b', 'c', 'd'].map(same),
    { kind: 'removed', text: 'e' },
    { kind: 'added', text: 'E' },
    ...['f', 'g', 'h'].map(same),
  ]);
});

test('equal texts have no difference', () => {
  expect(lineDiff('a\nb', 'a\nb')).toEqual([]);
});

test('lines that moved are taken out and put in once', () => {
  expect(apply('one\ntwo\nthree', 'two\nthree\none')).toEqual({
    kept: ['two', 'three'],
    removed: ['one'],
    added: ['one'],
  });
});

test('a text as long as a book is compared without filling the memory', () => {
  const many = (word: string) => Array.from({ length: 5_000 }, (_, index) => `${word} ${index}`).join('\n');
  const { kept, removed, added } = apply(`same\n${many('old')}`, `same\n${many('new')}`);
  expect([kept.length, removed.length, added.length]).toEqual([1, 5_000, 5_000]);
});
