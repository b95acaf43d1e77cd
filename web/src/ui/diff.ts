// The difference of two texts, by lines.

import type { DiffLine } from '@onyx/sdk';

const CONTEXT = 3;
/** For longer texts only the common start and end are found, because the table would be too large. */
const LARGEST = 4_000_000;

/** The lines that differ, with some unchanged lines around them; empty for equal texts. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const pieces = compare(before.split('\n'), after.split('\n'));
  const shown = new Set<number>();
  pieces.forEach(({ kind }, at) => {
    if (kind === 'same') return;
    for (let near = at - CONTEXT; near <= at + CONTEXT; near += 1) shown.add(near);
  });
  const lines: DiffLine[] = [];
  pieces.forEach((piece, at) => {
    if (!shown.has(at)) return;
    if (at > 0 && !shown.has(at - 1)) lines.push({ kind: 'hunk', text: '@@' });
    lines.push(piece);
  });
  return lines;
}

function compare(before: string[], after: string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end))
    end += 1;
  const same = (lines: string[]): DiffLine[] => lines.map((text) => ({ kind: 'same', text }));
  const middle = changes(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...same(before.slice(0, start)), ...middle, ...same(before.slice(before.length - end))];
}

/** The longest common subsequence, and the lines outside it. */
function changes(before: string[], after: string[]): DiffLine[] {
  const removed = before.map((text): DiffLine => ({ kind: 'removed', text }));
  const added = after.map((text): DiffLine => ({ kind: 'added', text }));
  if (before.length * after.length > LARGEST) return [...removed, ...added];
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      const equal = before[row] === after[column];
      lengths[row * width + column] = equal
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const pieces: DiffLine[] = [];
  let row = 0;
  let column = 0;
  while (row < before.length && column < after.length) {
    if (before[row] === after[column]) {
      pieces.push({ kind: 'same', text: before[row] ?? '' });
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) pieces.push(removed[row++] as DiffLine);
    else pieces.push(added[column++] as DiffLine);
  }
  return [...pieces, ...removed.slice(row), ...added.slice(column)];
}
