// The app shows the server's texts and never interprets them: if all texts are replaced in transit, the page has the
// same parts in the same order, with the new texts.

import type { WebSocketRoute } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { clearsAfterEach, finished, open, play, say, WIDTHS } from './play';
import type { Answer } from './stage';

clearsAfterEach();

const VERBS = ['plain', 'wants', 'doing', 'did', 'refused', 'failed'];

/** Replaces the texts of a frame: labels of calls, their targets, all summaries and messages. */
function inOtherWords(frame: string): string {
  const change = (value: unknown, name?: string): unknown => {
    if (typeof value === 'string') {
      if (VERBS.includes(name ?? '')) return `zq${name}`;
      if (name === 'subject') return 'about zebras';
      if (name === 'summary' || name === 'message' || name === 'tool' || name === 'toolName')
        return 'quux +9 −9 wobble';
      return value;
    }
    if (Array.isArray(value)) return value.map((item) => change(item, name));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, change(inner, key)]));
  };
  return JSON.stringify(change(JSON.parse(frame)));
}

const ANSWERS: Answer[] = [
  { calls: [{ id: 'c1', name: 'read_file', input: { path: 'plan.md' } }] },
  { calls: [{ id: 'c2', name: 'edit_file', input: { path: 'plan.md', old: 'two', new: '2\nthree' } }] },
  { calls: [{ id: 'c3', name: 'read_file', input: { path: 'nowhere.md' } }] },
  { text: 'There.' },
];
const FILES = { 'people/owner/vault/plan.md': 'one\ntwo\n' };

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('rows read by their state in the words that come with them, live and after a reload', async () => {
    const at = await play(ANSWERS, { files: FILES });
    const page = await open(at, '/chat', { viewport, colorScheme: 'light' });
    await page.routeWebSocket(/\/ws$/, (socket: WebSocketRoute) => {
      const server = socket.connectToServer();
      socket.onMessage((message) => server.send(message));
      server.onMessage((message) => socket.send(inOtherWords(String(message))));
    });
    await page.reload();
    await page.locator('#composer').focus();
    await say(page, 'look and change');
    await finished(page);
    const rows = page.getByRole('list', { name: 'Steps' }).getByRole('listitem');
    const shown = async () => (await rows.allInnerTexts()).map((row) => row.replace(/\s+/g, ' '));
    const looks = (texts: string[]) => texts.map((text) => text.replace(/ \d+ ?m?s$/, ''));
    const expected = ['zqdid about zebras', 'zqdid about zebras +2 −1', 'zqfailed about zebras'];
    await expect.poll(async () => looks(await shown())).toEqual(expected);
    // The diff of an edit is not one of these texts.
    await rows.nth(1).getByRole('button').press('Enter');
    await page.getByRole('group', { name: 'Change to about zebras' }).getByText('+three').waitFor();
    await page.reload();
    await expect.poll(async () => looks(await shown())).toEqual(expected);
    expect(page.wrongs).toEqual([]);
  });
});

test('a step that waits for a person wants, and then did or was not allowed to', async () => {
  const careful = [{ id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'suggest' }];
  const write = (name: string): Answer[] => [
    { calls: [{ id: name, name: 'write_file', input: { path: `${name}.md`, content: 'new\n' } }] },
    { text: 'Proposed.' },
  ];
  const at = await play([...write('a'), ...write('b')], { agents: careful });
  const page = await open(at, '/chat');
  const row = (words: string) => page.getByRole('list', { name: 'Steps' }).getByRole('button', { name: words });
  await say(page, 'write a');
  await finished(page);
  await row('Wants to write a.md').waitFor();
  await page.locator('#composer').blur();
  await page.keyboard.press('a');
  await row('Wrote a.md').waitFor();
  await say(page, 'write b');
  await row('Wants to write b.md').waitFor();
  await expect.poll(() => page.locator('[data-draft][data-open]').count()).toBe(1);
  await page.locator('#composer').blur();
  await page.keyboard.press('r');
  await page.keyboard.press('Enter');
  await row('Was not allowed to write b.md').waitFor();
  expect(page.wrongs).toEqual([]);
});
