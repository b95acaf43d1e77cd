import { expect, test } from 'vitest';
import { unified } from '../src/ui/diff';

/** Applies what a diff without headers says, so that it must be true. */
function apply(before: string, after: string): { kept: string[]; removed: string[]; added: string[] } {
  const lines = unified(before, after).split('\n');
  const of = (mark: string) => lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(1));
  return { kept: of(' '), removed: of('-'), added: of('+') };
}

test('what changed is marked, with a little of what stands around it', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng\nh\ni';
  const after = 'a\nb\nc\nd\nE\nf\ng\nh\ni';
  expect(unified(before, after)).toBe('@@\n b\n c\n d\n-e\n+E\n f\n g\n h');
});

test('equal texts have no difference', () => {
  expect(unified('a\nb', 'a\nb')).toBe('');
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
