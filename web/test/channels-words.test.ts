import { expect, test } from 'vitest';
import type { Source, SourceProgress } from '@onyx/sdk';
import { stateOf, titleFrom } from '../src/pages/channels/words';

const document = (error?: string) => ({ from: 'a.md', title: 'A', bytes: 1, error });
const source = (state: Source['state'], documents = [document()], error?: string): Source => ({
  id: 's',
  scope: { type: 'channel', id: 'c' },
  kind: 'folder',
  title: 'T',
  state,
  error,
  createdAt: '2026-11-15T10:00:00Z',
  documents,
});
const progress = (more: Partial<SourceProgress>): SourceProgress => ({
  state: 'importing',
  done: 2,
  failed: 0,
  ...more,
});

test.each([
  [source('importing'), undefined, 'Importing'],
  [source('importing'), progress({ total: 10, current: 'b.md' }), 'Importing 2 of 10 · b.md'],
  [source('importing'), progress({ failed: 1 }), 'Importing, 2 so far · 1 failed'],
  [source('ready'), undefined, '1 document'],
  [source('partial', [document(), document('no'), document()]), undefined, '1 of 3 documents could not be read'],
  [source('failed', [], 'It is not there.'), undefined, 'It is not there.'],
])('a source says how it is', (given, now, text) => expect(stateOf(given, now).text).toBe(text));

test('a thread is called by the first line of what began it', () => {
  expect(titleFrom('  What now?\nMore of it')).toBe('What now?');
  const long = titleFrom('word '.repeat(40));
  expect(long).toMatch(/^(word )+word…$/);
  expect(long.length).toBeLessThanOrEqual(81);
  expect(titleFrom('x'.repeat(200))).toHaveLength(81);
});
