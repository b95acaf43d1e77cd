import { describe, expect, test } from 'vitest';
import { rowsOf } from '../src/markdown/csv';

describe('rows of a table in text', () => {
  test('quotes hold separators, line ends and quotes', () => {
    expect(rowsOf('wood,price\n"oak, old","9""6\n"\nlarch,\n')).toEqual([
      ['wood', 'price'],
      ['oak, old', '9"6\n'],
      ['larch', ''],
    ]);
  });
  test('the separator is the one that the first line uses', () => {
    expect(rowsOf('a;b\r\n1,5;2')).toEqual([
      ['a', 'b'],
      ['1,5', '2'],
    ]);
    expect(rowsOf('')).toEqual([]);
  });
});
