import { describe, expect, test } from 'vitest';
import { documentIn } from '../src/chat/documents';

const PATH = 'spaces/home/tasks/floor.md';

describe('the change of a document', () => {
  test('a new one is its title, its fields and its text', () => {
    const unified = [
      '--- /dev/null',
      '+++ b/spaces/home/tasks/floor.md',
      '@@ -0,0 +1,7 @@',
      '+---',
      '+title: "Floor: oak"',
      '+status: todo',
      '+created: 2026-11-16T22:27:29Z',
      '+origin: agent_tainted',
      '+tags: [floor, wood]',
      '+---',
      '+Two mills.',
      '+---',
      '',
    ].join('\n');
    expect(documentIn(PATH, unified)).toEqual({
      kind: 'task',
      isNew: true,
      title: 'Floor: oak',
      fields: [
        { name: 'status', before: undefined, after: 'todo' },
        { name: 'tags', before: undefined, after: 'floor, wood' },
      ],
      body: [
        { change: 'added', text: 'Two mills.' },
        { change: 'added', text: '---' },
      ],
    });
  });

  test('a changed one names the fields that differ, with what they held', () => {
    const unified = '@@ -1,5 +1,5 @@\n ---\n title: Floor\n-status: todo\n+status: doing\n ---\n Two mills.\n';
    expect(documentIn(PATH, unified)).toEqual({
      kind: 'task',
      isNew: false,
      title: 'Floor',
      fields: [{ name: 'status', before: 'todo', after: 'doing' }],
      body: [{ change: 'same', text: 'Two mills.' }],
    });
  });

  test('a change further down has no fields, and a line like one stays text', () => {
    const unified = '@@ -20,2 +20,2 @@\n-price: 96\n+price: 64\n ---\n';
    const change = documentIn('spaces/home/pages/floor.md', unified);
    expect(change).toMatchObject({ kind: 'page', isNew: false, fields: [] });
    expect(change?.body.map((line) => line.change)).toEqual(['removed', 'added', 'same']);
  });

  test('other files are none', () => {
    expect(documentIn('vault/notes/a.md', '@@ -0,0 +1 @@\n+hi\n')).toBeUndefined();
  });
});
