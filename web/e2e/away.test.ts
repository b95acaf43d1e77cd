import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { brokenAnywhere } from './axe';
import { longSession } from './long';
import { beside, clearsAfterEach, finished, log, open, play, say, sessionOf, share, toast, told, WIDTHS } from './play';
import { PHONE, WIDE, type Answer, type Stage } from './stage';
import { Sky } from './weather';

clearsAfterEach();

const CAREFUL = [{ id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'suggest' }];
const write = (path: string): Answer[] => [
  { calls: [{ id: path, name: 'write_file', input: { path, content: 'new\n' } }] },
  { text: 'Proposed.' },
];
const written = (at: Stage, path: string) =>
  readFile(join(at.home, 'people/owner/vault', path), 'utf8').catch(() => undefined);
const card = (page: Page, name: string) => page.locator('[data-draft]').filter({ hasText: name });

interface Listener {
  notices: () => Promise<{ title: string; body: string }[]>;
  /** Clicks on a notification; returns how often the tab has asked to come to the front. */
  click: (body: string) => Promise<number>;
  hide: () => Promise<void>;
}

/**
 * Records the notifications and lets the tab be hidden. A test cannot click on the system's notifications or bring a
 * window to the front.
 */
async function listening(page: Page): Promise<Listener> {
  await page.evaluate(() => {
    const seen = { notices: [] as Notification[], focused: 0 };
    const Real = Notification;
    Object.assign(window, { seen, focus: () => (seen.focused += 1) });
    window.Notification = class extends Real {
      constructor(title: string, options?: NotificationOptions) {
        super(title, options);
        seen.notices.push(this);
      }
    };
  });
  type Seen = { seen: { notices: Notification[]; focused: number } };
  return {
    notices: () =>
      page.evaluate(() => (window as unknown as Seen).seen.notices.map(({ title, body }) => ({ title, body }))),
    click: (body) =>
      page.evaluate((words) => {
        const { seen } = window as unknown as Seen;
        seen.notices.find((notice) => notice.body === words)?.dispatchEvent(new Event('click'));
        return seen.focused;
      }, body),
    hide: () =>
      page
        .evaluate(() => Object.defineProperty(document, 'hidden', { configurable: true, get: () => true }))
        .then(() => undefined),
  };
}

test('somebody who looks elsewhere is notified of an answer and of what waits, once they allowed it, and a click on a notification opens its place', async () => {
  const at = await share([{ text: 'one' }, ...write('told.md')], { agents: CAREFUL });
  const page = await open(at, '/settings');
  const notify = page.getByRole('switch', { name: 'Notify' });
  await notify.click();
  await toast(page, /does not allow notifications/);
  expect(await notify.getAttribute('aria-checked')).toBe('false');
  await page.context().grantPermissions(['notifications'], { origin: at.url });
  await notify.click();
  await expect.poll(() => notify.getAttribute('aria-checked')).toBe('true');
  const { notices, click, hide } = await listening(page);
  await told(at, 'while I look');
  await page.getByRole('link', { name: 'while I look, unread' }).waitFor();
  expect(await notices()).toEqual([]);
  await hide();
  const id = await told(at, 'while I am away');
  const waits = 'Waiting for you: Create told.md +1 −0';
  await expect.poll(notices).toEqual(
    expect.arrayContaining([
      { title: 'while I am away', body: 'The answer is ready.' },
      { title: expect.any(String), body: waits },
    ]),
  );
  expect(await click('The answer is ready.')).toBe(1);
  await page.waitForURL(`**/chat/${id}`);
  await log(page).getByText('Proposed.').waitFor();
  await page.setViewportSize(PHONE);
  expect(await click(waits)).toBe(2);
  await page.waitForURL('**/inbox');
  await card(page, 'told.md').getByRole('button', { name: 'Approve', exact: true }).click();
  await expect.poll(() => written(at, 'told.md')).toBe('new\n');
  expect(page.wrongs).toEqual([]);
});

describe.each(WIDTHS)('at %s px', (width, viewport) => {
  test('what is decided without a connection waits in sight, over a reload too, can be taken back, and is done once', async () => {
    const [one, two] = [`one${width}.md`, `two${width}.md`];
    const at = await share([...write(one), ...write(two)], { agents: CAREFUL });
    await told(at, 'first');
    await told(at, 'second');
    const page = await open(at, '/nowhere', { viewport, colorScheme: 'light' });
    const sky = new Sky(page);
    await sky.watch();
    await page.goto(`${at.url}/inbox`);
    await card(page, two).waitFor();
    await sky.change('offline');
    await page
      .getByRole('navigation', { name: 'Main' })
      .getByLabel(/not connected/i)
      .waitFor();
    await card(page, one).getByRole('button', { name: 'Approve', exact: true }).click();
    await card(page, one).getByText('Approved, waiting for the connection').waitFor();
    await card(page, two).getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('2 decisions wait to be sent').waitFor();
    await card(page, two).getByRole('button', { name: 'Undo' }).click();
    await card(page, two).getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await page.clock.install();
    await page.reload();
    await page.getByText('1 decision waits to be sent').waitFor();
    expect(await written(at, one)).toBeUndefined();
    await sky.tryNow();
    await expect.poll(() => written(at, one)).toBe('new\n');
    await card(page, two).waitFor();
    expect(await written(at, two)).toBeUndefined();
    // Meanwhile somebody else has decided the other draft.
    await sky.change('offline');
    await page
      .getByRole('navigation', { name: 'Main' })
      .getByLabel(/not connected/i)
      .waitFor();
    await card(page, two).getByRole('button', { name: 'Approve', exact: true }).click();
    await card(page, two).getByText('waiting for the connection').waitFor();
    const id = await card(page, two).getAttribute('data-draft');
    await at.api(`/api/pending-changes/${id}/reject`, { method: 'POST', body: JSON.stringify({ reason: 'not now' }) });
    await sky.change('live');
    await toast(page, 'Already decided by you, elsewhere');
    await card(page, two)
      .getByText(/Rejected.*“not now”/)
      .waitFor();
    expect(await written(at, two)).toBeUndefined();
  });

  test('settings are found by their words', async () => {
    const at = await share([]);
    const page = await open(at, '/settings', { viewport });
    const sections = page.getByRole('navigation', { name: 'Settings' });
    await sections.getByRole('link', { name: 'Budgets' }).waitFor();
    await page.getByLabel('Search settings').fill('ollama');
    await sections.getByRole('link', { name: 'Budgets' }).waitFor({ state: 'detached' });
    await sections.getByRole('link', { name: 'Providers' }).click();
    await page.waitForURL(/\/settings\/providers/);
    // On a phone the list is a separate page, one step back.
    if (viewport.width < 768) await page.getByRole('link', { name: 'Back' }).click();
    await page.getByLabel('Search settings').fill('no such thing');
    await sections.getByText('No matching settings.').waitFor();
    expect(page.wrongs).toEqual([]);
  });
});

test('what a run read from outside, did without and was answered by is marked, in both widths, after a reload and on another device', async () => {
  const agents = [
    {
      id: 'main',
      name: 'Main',
      default: true,
      model: { primary: 'mine/unpriced', fallbacks: ['mine/spare'] },
      tier: 'act',
    },
  ];
  const files = { 'people/owner/memory/main/daily/2026-01-01.md': '- 10:00 theirs <!-- agent_tainted -->\n' };
  const at = await play(
    [
      { calls: [{ id: 'a', name: 'memory_get', input: { path: 'daily/2026-01-01.md' } }] },
      { text: 'Read.' },
      { refused: 400 },
      { text: 'From the spare one.' },
    ],
    { agents, files },
  );
  const page = await open(at);
  const marked = (where: Page) =>
    where
      .getByTitle(/has read outside content/)
      .getByText('has read outside content')
      .waitFor();
  const note = (where: Page, answer: string, words: string | RegExp) =>
    log(where).getByRole('article').filter({ hasText: answer }).getByText(words).waitFor();
  await say(page, 'look');
  await finished(page);
  await say(page, 'again');
  await log(page).getByText('From the spare one.').waitFor();
  await finished(page);
  for (const step of ['live', 'reloaded']) {
    if (step === 'reloaded') await page.reload();
    for (const viewport of [WIDE, PHONE]) {
      await page.setViewportSize(viewport);
      await marked(page);
      await note(page, 'Read.', 'No price set for mine/unpriced, so budgets count it as $0.');
      await note(page, 'Read.', 'This run has read content from outside');
      await note(page, 'From the spare one.', /^mine\/unpriced: .* mine\/spare answers instead\.$/);
    }
  }
  expect(await brokenAnywhere(page, 'marks')).toEqual([]);
  // A device that was not connected shows what the log has.
  const other = await beside(page, at, `/chat/${sessionOf(page)}`);
  await note(other, 'Read.', 'This run has read content from outside.');
  await note(other, 'From the spare one.', 'mine/spare answered instead of mine/unpriced.');
  expect(await log(other).getByText('The price of').count()).toBe(0);
  expect([...page.wrongs, ...other.wrongs]).toEqual([]);
});

test('finds in all of a long chat, from the newest hit back to the first, with few turns on the page', async () => {
  const at = await play([{ text: 'An answer.' }]);
  const id = await longSession(at, 400);
  const page = await open(at, `/chat/${id}`);
  await log(page).getByText('An answer.').last().waitFor();
  await page.keyboard.press('Control+f');
  const find = page.getByRole('search').getByLabel('Find in this chat');
  await find.fill('question');
  const place = page.getByRole('search').getByRole('status');
  await place.getByText('400/400', { exact: true }).waitFor();
  await find.press('Enter');
  await place.getByText('399/400').waitFor();
  await find.press('Shift+Enter');
  await find.press('Shift+Enter');
  await place.getByText('1/400', { exact: true }).waitFor();
  await expect.poll(() => log(page).evaluate((element) => element.scrollTop)).toBeLessThan(200);
  expect(await log(page).getByRole('article').count()).toBeLessThan(60);
  expect(await page.evaluate(() => [...(CSS.highlights.get('found') ?? [])].length)).toBeGreaterThan(0);
  expect(page.wrongs).toEqual([]);
});
