import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { beside, clearsAfterEach, finished, open, play, say, share, told, toast, WIDTHS } from './play';
import type { Answer, Stage } from './stage';

const PLAN = 'people/owner/vault/plan.md';
const edit = (id: string, from: string, to: string): Answer => ({
  calls: [{ id, name: 'edit_file', input: { path: 'plan.md', old: from, new: to } }],
});
const CAREFUL = [{ id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'suggest' }];

clearsAfterEach();

const begin = (answers: Answer[], agents: object[] = CAREFUL) =>
  share(answers, { agents, files: { [PLAN]: 'Drive up after lunch\n' } });
/** The number of all drafts, because the server also has those of other tests. */
const count = async (at: Stage) =>
  ((await (await at.api('/api/pending-changes?limit=200')).json()) as { drafts: unknown[] }).drafts.length;
const card = (page: Page) => page.locator('[data-draft]').last();
const plan = (at: Stage) => readFile(join(at.home, PLAN), 'utf8');

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('a draft is approved in the Inbox while the chat shows the same card, then one is rejected in the chat', async () => {
    const at = await begin([
      edit('a', 'after lunch', 'at 9:30'),
      { text: 'Proposed.' },
      edit('b', 'Drive', 'Walk'),
      { text: 'Proposed.' },
    ]);
    const before = await count(at);
    const chat = await open(at, '/chat', { viewport });
    await say(chat, 'change the plan');
    await finished(chat);
    await card(chat).getByText('-Drive up after lunch').waitFor();
    const inbox = await beside(chat, at, '/inbox');
    await card(inbox).getByText('+Drive up at 9:30').waitFor();
    await card(inbox).getByRole('button', { name: 'Approve' }).click();
    await card(inbox)
      .getByText(/Approved and done/)
      .waitFor();
    await card(chat)
      .getByText(/Approved and done/)
      .waitFor();
    expect(await plan(at)).toBe('Drive up at 9:30\n');
    await say(chat, 'again');
    await finished(chat);
    await card(chat).getByRole('button', { name: 'Reject' }).click();
    await card(chat).getByLabel('Reason').fill('too far');
    await card(chat).getByRole('button', { name: 'Reject' }).click();
    await card(chat).getByText('“too far”').waitFor();
    await card(inbox)
      .getByText(/Rejected/)
      .waitFor();
    expect(await plan(at)).toBe('Drive up at 9:30\n');
    await inbox.getByRole('tab', { name: 'Decided' }).click();
    expect(await inbox.locator('[data-draft]').count()).toBe(before + 2);
    expect([...chat.wrongs, ...inbox.wrongs]).toEqual([]);
  });

  test('a draft whose file has changed shows the new difference before it can be approved', async () => {
    const at = await begin([
      { calls: [{ id: 'a', name: 'write_file', input: { path: 'plan.md', content: 'Stay at home\n' } }] },
      { text: 'Proposed.' },
    ]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'change the plan');
    await finished(page);
    await writeFile(join(at.home, PLAN), 'Fly\n');
    await card(page).getByRole('button', { name: 'Approve' }).click();
    await card(page).getByText('-Fly').waitFor();
    expect(await plan(at)).toBe('Fly\n');
    await card(page).getByRole('button', { name: 'Approve' }).click();
    await card(page)
      .getByText(/Approved and done/)
      .waitFor();
    expect(await plan(at)).toBe('Stay at home\n');
  });

  test('what somebody else decided first is told, and stays as they decided', async () => {
    const at = await begin([edit('a', 'after lunch', 'at 9:30'), { text: 'Proposed.' }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'change the plan');
    await finished(page);
    await card(page).waitFor();
    const id = await card(page).getAttribute('data-draft');
    await at.api(`/api/pending-changes/${id}/reject`, { method: 'POST', body: JSON.stringify({ reason: 'not now' }) });
    await card(page)
      .getByText(/Rejected.*“not now”/)
      .waitFor();
    expect(await plan(at)).toBe('Drive up after lunch\n');
    expect(page.wrongs).toEqual([]);
  });

  test('an agent that needs a yes waits for it, and goes on when it is told no', async () => {
    const at = await begin(
      [
        { calls: [{ id: 'a', name: 'web_fetch', input: { url: 'https://a.example/collect?plan=drive' } }] },
        { text: 'Then I leave it.' },
      ],
      [{ id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'act' }],
    );
    const page = await open(at, '/chat', { viewport });
    await say(page, 'what is new?');
    await card(page).getByText('leaves this machine').waitFor();
    await card(page).focus();
    await page.keyboard.press('r');
    await card(page).getByLabel('Reason').fill('not that one');
    await page.keyboard.press('Enter');
    await page.locator('[role=log]').getByText('Then I leave it.').waitFor();
    await card(page).getByText('“not that one”').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('a question of an agent is answered in the chat, and the answer reaches it', async () => {
    const ask = (id: string): Answer => ({
      calls: [{ id, name: 'ask_person', input: { question: 'Which of the two roads?' } }],
    });
    const at = await begin([ask('a'), { text: 'Then the upper one.' }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'plan the trip');
    await card(page).getByText('Which of the two roads?').first().waitFor();
    expect(await card(page).getByRole('button', { name: 'Approve' }).count()).toBe(0);
    expect(await card(page).getByRole('button', { name: 'Answer', exact: true }).isDisabled()).toBe(true);
    await card(page).getByLabel('Your answer').fill('the upper one');
    await page.keyboard.press('Enter');
    await page.locator('[role=log]').getByText('Then the upper one.').waitFor();
    await card(page).getByText('You answered: the upper one').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('many drafts are decided at once, or one after the other by keys', async () => {
    const write = (path: string): Answer[] => [
      { calls: [{ id: path, name: 'write_file', input: { path, content: 'new\n' } }] },
      { text: 'Proposed.' },
    ];
    const at = await play(['a.md', 'b.md', 'c.md', 'd.md'].flatMap(write), { agents: CAREFUL });
    const there = (name: string) =>
      readFile(join(at.home, `people/owner/vault/${name}.md`), 'utf8').catch(() => undefined);
    await told(at, 'one');
    await told(at, 'two');
    const inbox = await open(at, '/inbox', { viewport });
    await inbox.getByRole('button', { name: 'Approve all' }).click();
    await inbox.getByRole('dialog').getByRole('button', { name: 'Approve all' }).click();
    await toast(inbox, '2 of 2 approved');
    expect([await there('a'), await there('b')]).toEqual(['new\n', 'new\n']);
    await told(at, 'three');
    await told(at, 'four');
    await expect.poll(() => inbox.locator('[data-draft][data-open]').count()).toBe(2);
    await inbox.keyboard.press('j');
    await inbox.keyboard.press('a');
    await expect.poll(() => inbox.locator('[data-draft][data-open]').count()).toBe(1);
    await inbox.keyboard.press('j');
    await inbox.keyboard.press('r');
    await inbox.getByLabel('Reason').fill('enough');
    await inbox.keyboard.press('Enter');
    await inbox.getByText('“enough”').waitFor();
    expect([await there('c'), await there('d')].filter(Boolean)).toEqual(['new\n']);
    await inbox.getByRole('tab', { name: 'Decided' }).click();
    expect(await inbox.locator('[data-draft]').count()).toBe(4);
    expect(inbox.wrongs).toEqual([]);
  });
});
