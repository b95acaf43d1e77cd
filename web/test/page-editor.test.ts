import { describe, expect, test } from 'vitest';
import type { MemoryVersion } from '@onyx/sdk';
import { cellEnds, cellsOf } from '../src/editor/tables';
import { targetNamed } from '../src/pages/spaces/linkTargets';
import { goes } from '../src/pages/spaces/versions';

describe('a table', () => {
  test('is read cell by cell, with bars that belong to a cell', () => {
    expect(cellsOf('| Oak | 12 \\| 14 | |')).toEqual(['Oak', '12 | 14', '']);
    expect(cellsOf('Oak | Larch')).toEqual(['Oak', 'Larch']);
  });

  test('has a place for the cursor in every cell, also in empty ones', () => {
    expect(cellEnds('| Oak |  | x |')).toEqual([5, 8, 12]);
    expect(cellEnds('|  |  |')).toEqual([2, 5]);
    expect(cellEnds('a | b')).toEqual([1, 5]);
  });
});

const change = (version: number, minute: number, author = 'person:owner', created = false): MemoryVersion =>
  ({
    version,
    ts: new Date(Date.UTC(2026, 10, 15, 10, minute)).toISOString(),
    author,
    created,
    deleted: false,
    origin: 'person',
    tool: 'spaces',
  }) as MemoryVersion;

describe('versions of a page', () => {
  test('that one hand wrote in one go are one, which brings back what stood before all of them', () => {
    const list = [
      change(5, 40),
      change(4, 38),
      change(3, 37, 'agent:main'),
      change(2, 5),
      change(1, 0, 'person:owner', true),
    ];
    expect(goes(list).map(({ number, changes, author, created }) => [number, changes, author, created])).toEqual([
      [4, 2, 'person:owner', false],
      [3, 1, 'agent:main', false],
      [1, 2, 'person:owner', true],
    ]);
  });
});

describe('a link to a page', () => {
  const targets = [
    { place: 'pages', id: 'floor', title: 'Wooden floor', kind: 'page' },
    { place: 'tasks', id: 'order', title: 'Floor', kind: 'task' },
  ] as const;

  test('means the title it names, and what was called so before where nothing is now', () => {
    expect(targetNamed([...targets], 'floor')?.id).toBe('order');
    expect(targetNamed([targets[0]], 'Floor')?.id).toBe('floor');
    expect(targetNamed([...targets], 'WOODEN  floor')?.id).toBe('floor');
    expect(targetNamed([...targets], 'Roof')).toBeUndefined();
  });
});
