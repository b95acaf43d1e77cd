// Changes that people make to chats: ratings, tags, temporary chats, chats about a task, and drafts of members.

import { describe, expect, test } from 'vitest';
import { clearsAfterEach, finished, log, open, play, say, sessionOf, told, toast, TWO_AGENTS, WIDTHS } from './play';
import type { Answer, Stage } from './stage';

clearsAfterEach();

const turnsOf = async (at: Stage, session: string) =>
  (
    (await (await at.api(`/v1/sessions/${session}/turns`)).json()) as {
      turns: { type: string; rating?: string; note?: string }[];
    }
  ).turns;

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('an answer is rated with a note by keyboard, and the rating is there after a reload', async () => {
    const at = await play([{ text: 'Boil it for an hour.' }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'How do I cook an egg?');
    await finished(page);
    await page.getByRole('button', { name: 'Bad answer' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('What was wrong with it? (optional)').waitFor();
    await page.keyboard.type('Ten minutes');
    await page.keyboard.press('Enter');
    await log(page).getByText('Your note: Ten minutes').waitFor();
    const said = (await turnsOf(at, sessionOf(page))).findLast((turn) => turn.type === 'feedback');
    expect(said).toMatchObject({ rating: 'bad', note: 'Ten minutes' });
    await page.reload();
    await log(page).getByText('Your note: Ten minutes').waitFor();
    const bad = page.getByRole('button', { name: 'Bad answer' });
    expect(await bad.getAttribute('aria-pressed')).toBe('true');
    // Pressing the same rating again removes it.
    await bad.click();
    await log(page).getByText('Your note: Ten minutes').waitFor({ state: 'detached' });
    expect(page.wrongs).toEqual([]);
  });

  test('a temporary chat says what it is and is in no list', async () => {
    const at = await play([{ text: 'Nobody will know.' }]);
    const page = await open(at, '/chat', { viewport });
    await page.getByRole('button', { name: 'Temporary' }).click();
    await page.getByText('deleted 24 hours after its last message').waitFor();
    await say(page, 'a secret');
    await finished(page);
    await page.getByText('deleted 24 hours after its last message').waitFor();
    await page.goto(`${at.url}/sessions`);
    await page.getByText('No chats yet.').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('several chats get a tag at once, and the list is narrowed by it', async () => {
    const at = await play([], { fallback: { text: 'ok' } });
    await told(at, 'boats');
    await told(at, 'bread');
    await told(at, 'other');
    const page = await open(at, '/sessions', { viewport });
    await page.getByRole('button', { name: 'Select' }).click();
    for (const name of ['boats', 'bread']) await page.getByLabel(`Select ${name}`).check();
    await page.getByRole('toolbar').getByRole('button', { name: 'Tag' }).click();
    await page.keyboard.type('summer');
    await page.keyboard.press('Enter');
    await toast(page, '2 chats tagged');
    await page.getByLabel('Tag', { exact: true }).selectOption('summer');
    await page.getByRole('main').getByRole('link', { name: /other/ }).waitFor({ state: 'detached' });
    for (const name of [/boats/, /bread/]) await page.getByRole('main').getByRole('link', { name }).first().waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('a conversation begun on a task is listed there and leads back to it', async () => {
    const at = await play([{ text: 'In March.' }]);
    const made = (path: string, body: object) => at.api(path, { method: 'POST', body: JSON.stringify(body) });
    await made('/api/spaces', { name: 'Garden', id: 'garden' });
    await made('/api/spaces/garden/tasks', { title: 'Prune the roses' });
    const page = await open(at, '/spaces/garden/tasks/prune-the-roses', { viewport });
    const chats = page.getByRole('region', { name: 'Conversations' });
    await chats.getByText('No conversations about this task yet.').waitFor();
    await chats.getByRole('link', { name: 'New conversation' }).click();
    await say(page, 'When are roses pruned?');
    await finished(page);
    await page.getByRole('link', { name: 'Prune the roses' }).click();
    await chats.getByRole('link', { name: /When are roses pruned/ }).waitFor();
    await chats.getByRole('button', { name: /^Detach/ }).click();
    await chats.getByText('No conversations about this task yet.').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('the owner decides by keyboard what a member may not', async () => {
    const careful = [{ id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'suggest' }];
    const run: Answer = { calls: [{ id: 'a', name: 'exec', input: { argv: ['echo', 'hello'] } }] };
    const at = await play([run, { text: 'Proposed.' }, { ...run }, { text: 'Proposed.' }], { agents: careful });
    const post = (path: string, body: object, token?: string) =>
      at.api(path, {
        method: 'POST',
        body: JSON.stringify(body),
        ...(token ? { headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } } : {}),
      });
    await post('/api/admin/people', { id: 'anna' });
    const { token } = (await (await post('/api/admin/tokens', { name: 't', people: ['anna'] })).json()) as {
      token: string;
    };
    const page = await open(at, '/inbox', { viewport });
    await page.getByText('Nothing is waiting for you.').waitFor();
    // The draft arrives while the page is open.
    await post('/api/agent/chat', { message: 'say hello' }, token);
    const ours = page.getByRole('region', { name: 'From members' });
    await ours.getByText('Main of anna').waitFor();
    await ours.getByText('echo hello').first().waitFor();
    // The key decides the only open card of the page.
    await expect.poll(() => page.locator('[data-draft][data-open]').count()).toBe(1);
    await page.keyboard.press('a');
    await ours.getByText(/Approved and done/).waitFor();
    await post('/api/agent/chat', { message: 'again' }, token);
    const card = ours.locator('[data-draft][data-open]');
    await card.waitFor();
    await card.focus();
    await page.keyboard.press('r');
    await page.keyboard.type('not now');
    await page.keyboard.press('Enter');
    await ours.getByText('“not now”').waitFor();
    expect(page.wrongs).toEqual([]);
  });
});

test('one of two agents is stopped and the other answers', async () => {
  const at = await play([{ text: 'Good day.' }], { agents: TWO_AGENTS });
  const session = await told(at, 'hello');
  await at.api(`/v1/sessions/${session}`, {
    method: 'PATCH',
    body: JSON.stringify({ agents: ['main', 'optimist'], mode: 'sequential' }),
  });
  await at.script([{ text: 'Well, half', hang: true }, { text: 'All of it.' }]);
  const page = await open(at, `/chat/${session}`);
  await say(page, 'and now?');
  await log(page).getByText('Well, half').waitFor();
  await page.getByRole('button', { name: 'Stop Main' }).click();
  await log(page).getByText('All of it.').waitFor();
  await log(page).getByText('You stopped this answer.').waitFor();
  await page.reload();
  await log(page).getByText('You stopped this answer.').waitFor();
  expect(await log(page).getByText('You stopped this answer.').count()).toBe(1);
});

test('health names everything with what to do, and the log offers what the server logs', async () => {
  const at = await play([]);
  const page = await open(at, '/system');
  for (const name of ['Index', 'Search by meaning', 'Web search', 'Commands', 'Docker', 'Jobs', 'MCP server', 'Disk'])
    await page.getByRole('main').getByText(name, { exact: true }).waitFor();
  await page.getByText('tools.web.search.baseUrl').waitFor();
  await page.getByRole('link', { name: 'Logs' }).click();
  const shown = page.getByLabel('Level', { exact: true });
  await page.getByLabel('Server log level').waitFor();
  expect(await shown.locator('option').allTextContents()).toEqual(['Errors', 'Warnings', 'Info']);
  await page.getByLabel('Server log level').selectOption('debug');
  await page.getByText('until it restarts.').waitFor();
  expect(await shown.locator('option').allTextContents()).toEqual(['Errors', 'Warnings', 'Info', 'Debug']);
  await page.getByRole('button', { name: 'Back to Info' }).click();
  await page.getByText('until it restarts.').waitFor({ state: 'detached' });
  expect(page.wrongs).toEqual([]);
});

test('sources are attached on the pages of a space and of an agent', async () => {
  const at = await play([]);
  await at.api('/api/spaces', { method: 'POST', body: JSON.stringify({ name: 'Garden', id: 'garden' }) });
  const page = await open(at, '/spaces/garden/sources');
  await page.getByRole('button', { name: 'Add a source' }).waitFor();
  await page.goto(`${at.url}/agents/main/memory`);
  await page.getByRole('region', { name: 'Knowledge sources' }).getByRole('button', { name: 'Add a source' }).waitFor();
});
