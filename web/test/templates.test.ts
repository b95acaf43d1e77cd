import { describe, expect, test } from 'vitest';
import type { Action } from '@onyx/sdk';
import {
  artifactOf,
  asksForSelection,
  candidates,
  filled,
  frontOf,
  promptOf,
  rehearsed,
  valuesAt,
} from '../src/store/templates';

const VALUES = valuesAt(new Date('2026-11-15T09:05:59Z'), 'mara', 'the boats {{date}}');

describe('a prompt', () => {
  test('is what stands after the front matter', () => {
    expect(promptOf('---\nmax_steps: 3\n---\nGo.\n---\nreally\n')).toBe('Go.\n---\nreally');
    expect(promptOf('---\r\n---\r\nGo.\r\n')).toBe('Go.');
    expect(promptOf('Go.\n')).toBe('Go.');
  });
  test('has its fields filled in once, and nothing else', () => {
    expect(filled('On {{date}} at {{ time }} for {{person}}: {{selection}} {{hour}}', VALUES)).toBe(
      'On 2026-11-15 at 09:05 for mara: the boats {{date}} {{hour}}',
    );
  });
  test('without a place for the selection is followed by it', () => {
    expect(filled('Sum up.', VALUES)).toBe('Sum up.\n\nthe boats {{date}}');
    expect(asksForSelection('{{date}}')).toBe(false);
    expect(asksForSelection('a {{selection}}')).toBe(true);
  });
});

describe('the file of an action', () => {
  const action = (id: string, label: string): Action => ({ id, label, requiresConfirmation: false });
  test('has one of two ends', () => {
    const tidy = action('tidy', 'Tidy');
    expect(candidates(tidy, [tidy, action('other', 'Other')])).toEqual(['Tidy.md', 'Tidy.prompt.md']);
  });
  test('of a label that is there twice is told by its place', () => {
    const all = [action('tidy', 'Tidy'), action('tidy-2', 'Tidy')];
    expect(all.map((one) => candidates(one, all))).toEqual([['Tidy.md'], ['Tidy.prompt.md']]);
  });
});

test('a run’s page lies under the day of its id, and says how it ended', () => {
  expect(artifactOf('019a8a2b-7800-7000-8000-000000000000')).toBe(
    'vault/agent/runs/2025/11/16/019a8a2b-7800-7000-8000-000000000000.md',
  );
  expect(frontOf('---\naction: "sum-up"\nstatus: done\ncost: 0.25\n---\n# Sum up\nstatus: no\n')).toEqual({
    action: 'sum-up',
    status: 'done',
    cost: '0.25',
  });
});

test('a step that was only tried says what it would have done', () => {
  expect(
    rehearsed('dry run, nothing was done: Create a.md +1 −0 (write: draft)\n--- a.md\n+++ a.md\n@@ -0,0 +1 @@\n+x\n'),
  ).toEqual({
    what: 'Create a.md +1 −0',
    effect: 'write',
    verdict: 'draft',
    preview: '--- a.md\n+++ a.md\n@@ -0,0 +1 @@\n+x\n',
  });
  expect(rehearsed('a.md  12')).toBeUndefined();
});
