import { describe, expect, test } from 'vitest';
import type { ThreadContextPiece } from '@onyx/sdk';
import { compared, foreseen, givenOf, spent } from '../src/pages/channels/retrieved';

const piece = (source: string, line: number, tokens: number, fits = true): ThreadContextPiece => ({
  source,
  title: source,
  scope: { type: 'channel', id: 'launch' },
  origin: 'external',
  score: 1 / line,
  sourceId: 's',
  chunkId: '1',
  matchType: 'fts',
  startLine: line,
  endLine: line + 2,
  text: source,
  tokens,
  fits,
});

describe('found beside given', () => {
  test('what was given, what had no room, what came since, and what is gone', () => {
    const given = givenOf([
      { scope: 'channel', source: 'a.md', startLine: 1, endLine: 3, text: 'one', tokens: 50 },
      { scope: 'thread', source: 'old.md', text: 'then', tokens: 70 },
    ]);
    const rows = compared(given, [piece('a.md', 1, 50), piece('b.md', 4, 90), piece('c.md', 5, 20)], 180);
    expect(rows.map(({ source, state, scope }) => [source, scope, state])).toEqual([
      ['a.md', 'channel', 'given'],
      ['b.md', 'channel', 'cut'],
      ['c.md', 'channel', 'since'],
      ['old.md', 'thread', 'gone'],
    ]);
    expect(spent(rows)).toBe(120);
  });

  test('before it is sent, the server says what fits', () => {
    const rows = foreseen([piece('a.md', 1, 200), piece('b.md', 2, 200, false), piece('c.md', 3, 10)]);
    expect(rows.map(({ state }) => state)).toEqual(['given', 'cut', 'given']);
    expect(spent(rows)).toBe(210);
  });
});
