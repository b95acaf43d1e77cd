import { expect, test } from 'vitest';
import type { Sibling, Turn } from '@onyx/sdk';
import { partingAt } from '../src/chat/Siblings';

const user = (id: string) =>
  ({ id, ts: '', lane: 0, author: 'person:me', origin: 'person', type: 'user', content: id }) as Turn;
const sibling = (id: string, forkTurn: string | null): Sibling => ({
  id,
  forkTurn,
  title: null,
  status: 'active',
  createdAt: '',
  updatedAt: '',
  messageCount: 0,
  preview: '',
});
const at = (turns: string[], ...siblings: ReturnType<typeof sibling>[]) => ({
  turns: turns.map(user),
  siblings,
  phase: 'ready' as const,
});

test('an edited message is switched with the one it replaced, from both sides', () => {
  const family = [sibling('first', null), sibling('edit', 't2')];
  expect(partingAt(at(['t1', 't2', 't3'], ...family), 'first', 't2')).toEqual(['first', 'edit']);
  expect(partingAt(at(['t1', 't4', 't5'], ...family), 'edit', 't4')).toEqual(['first', 'edit']);
  expect(partingAt(at(['t1', 't4', 't5'], ...family), 'edit', 't1')).toEqual([]);
  expect(partingAt(at(['t1', 't4', 't5'], ...family), 'edit', 't5')).toEqual([]);
});

test('another answer is switched at the message it answers', () => {
  const family = [sibling('first', null), sibling('again', 't1'), sibling('third', 't1')];
  for (const id of ['first', 'again', 'third']) {
    expect(partingAt(at(['t1'], ...family), id, 't1')).toEqual(['first', 'again', 'third']);
  }
});

test('a session without forks has nothing to switch', () => {
  expect(partingAt(at(['t1'], sibling('first', null)), 'first', 't1')).toEqual([]);
});
