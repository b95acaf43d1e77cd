// Features that people missed: queued messages after a stop, pins, search in messages, actions on several chats, a
// bottom bar, readable drafts. By keyboard and by touch, at both widths.

import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { HOUSE, tellCompanion, COMPANION_ANSWERS } from './house';
import {
  clearsAfterEach,
  composer,
  finished,
  log,
  open,
  play,
  say,
  sessionOf,
  share,
  toast,
  told,
  words,
  WIDTHS,
} from './play';
import { PHONE, WIDE, type Answer } from './stage';

clearsAfterEach();

const isPhone = (viewport: { width: number }) => viewport.width < 768;
/** Uses touch where the page is that of a phone. */
const touch = { viewport: PHONE, hasTouch: true, isMobile: true };

describe.each(WIDTHS)('at %s px', (width, viewport) => {
  test('words that a stopped answer never read stay, over a reload too, and are sent or discarded', async () => {
    const hanging: Answer = { text: 'This goes on', hang: true };
    const at = await play([hanging, { text: 'Left it is.' }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'go');
    await log(page).getByText('This goes on').waitFor();
    await say(page, 'rather left');
    await say(page, 'or nowhere');
    // A message that is still on its way when the answer is stopped would begin an answer of its own.
    await expect.poll(() => log(page).getByText('Will be read after the current step').count()).toBe(2);
    await page.getByRole('button', { name: 'Stop' }).press('Enter');
    await log(page).getByText('Not read yet').last().waitFor();
    await page.reload();
    const unread = (text: string) => log(page).getByRole('article', { name: 'You' }).filter({ hasText: text });
    await unread('or nowhere').getByRole('button', { name: 'Discard' }).press('Enter');
    await unread('or nowhere').waitFor({ state: 'detached' });
    await unread('rather left').getByRole('button', { name: 'Send now' }).press('Enter');
    await log(page).getByText('Left it is.').waitFor();
    await finished(page);
    expect(await words(at, sessionOf(page))).toEqual(['go', 'rather left']);
    expect(await log(page).getByText('Not read yet').count()).toBe(0);
    expect(page.wrongs).toEqual([]);
  });

  test('memory leads to the chat at the message, from a search and from what is known', async () => {
    const name = `Zoe${width}`;
    const at = await share([{ text: 'Noted.' }]);
    const session = await told(at, `${name} lives in Bonn.`);
    const known = async () => (await at.api(`/v1/memory/graph?entity=${name}`)).status;
    await expect.poll(known).toBe(200);
    const page = await open(at, '/memory', { viewport });
    await page.getByLabel('Search memory').fill(`${name} Bonn`);
    const hit = page.getByRole('list', { name: 'Results' }).getByRole('link').filter({ hasText: name }).first();
    await hit.press('Enter');
    await page.waitForURL(new RegExp(`/chat/${session}\\?turn=`));
    await page.locator('[data-found]').getByText('lives in Bonn').waitFor();
    await page.goto(`${at.url}/memory?entity=${name}`);
    const fact = page.getByRole('list', { name: 'Now' }).getByRole('listitem').first();
    await fact.locator('summary').press('Enter');
    await fact.getByRole('list', { name: 'Sources' }).getByRole('link').first().press('Enter');
    await page.waitForURL(new RegExp(`/chat/${session}\\?turn=`));
    await page.locator('[data-found]').getByText('lives in Bonn').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('the daily logs are reviewed at once, and what the agent proposes is approved in the Inbox', async () => {
    const fact = { heading: 'People', text: '- Ben lives in Rome' };
    const at = await play([
      { calls: [{ id: 'a', name: 'memory_write', input: fact }] },
      { text: 'One fact is proposed.' },
      { text: 'Nothing is missing.' },
    ]);
    const page = await open(at, '/memory', { viewport });
    const review = page.getByRole('button', { name: 'Review logs' });
    await review.press('Enter');
    await toast(page, 'There are no daily logs to review yet.');
    await at.write({ 'people/owner/memory/main/daily/2026-03-01.md': '- 10:00 Ben moved to Rome\n' });
    await review.press('Enter');
    await toast(page, 'Proposed changes are in the Inbox.');
    await page.getByRole('button', { name: 'Open Inbox' }).press('Enter');
    await page.waitForURL(/\/inbox$/);
    const card = page.locator('[data-draft][data-open]');
    await card.getByText('- Ben lives in Rome').first().waitFor();
    await card.getByRole('button', { name: 'Approve' }).press('Enter');
    const memory = async () => (await at.api('/v1/memory/files/memory/main/MEMORY.md')).text();
    await expect.poll(memory).toContain('- Ben lives in Rome');
    await page.goto(`${at.url}/memory`);
    await review.press('Enter');
    await toast(page, 'The logs hold nothing new for memory.');
    expect(page.wrongs).toEqual([]);
  });

  test('what was said is found, with its words, and opens at the message', async () => {
    const at = await share([{ text: `The heron ${width} nests by the weir.` }, { text: 'Nothing of birds.' }]);
    const session = await told(at, `walks ${width}`);
    const more = { message: 'and else?', session_id: session };
    await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify(more) });
    // The index has new messages after a moment.
    const found = async () => {
      const answer = await at.api(`/v1/sessions?q=${encodeURIComponent(`heron ${width}`)}`);
      const { sessions } = (await answer.json()) as { sessions: { found?: { turn?: string } }[] };
      return sessions.some((one) => one.found?.turn);
    };
    await expect.poll(found).toBe(true);
    const page = await open(at, '/sessions', { viewport });
    await page.getByLabel('Search chats').fill(`heron ${width}`);
    const row = page.locator('main li').filter({ hasText: 'weir' });
    await row.locator('mark').first().waitFor();
    await row.getByRole('link').first().press('Enter');
    await page.waitForURL(/turn=/);
    await page.locator('[data-found]').getByText('nests by the weir').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type(`heron ${width}`);
    // While it is typed, other chats may be found.
    await page
      .getByRole('option')
      .filter({ hasText: `heron ${width} nests` })
      .waitFor();
    await page.keyboard.press('Enter');
    await page.locator('[data-found]').getByText('nests by the weir').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('a chat is pinned, renamed and deleted from the lists, several at once, and stands under its day', async () => {
    const at = await play([]);
    await told(at, 'one chat');
    await told(at, 'two chat');
    await told(at, 'three chat');
    const page = await open(at, '/sessions', { viewport });
    const group = (name: string) => page.locator('main').getByRole('region', { name });
    await group('Today').getByText('three chat').waitFor();
    const act = async (name: string, entry: string) => {
      await page
        .locator('main')
        .getByRole('button', { name: `More for ${name}` })
        .press('Enter');
      await page.getByRole('menuitem', { name: entry, exact: true }).press('Enter');
    };
    await act('one chat', 'Pin');
    await group('Pinned').getByText('one chat').waitFor();
    if (!isPhone(viewport)) {
      const nav = page.getByRole('navigation', { name: 'Main' });
      await nav.getByRole('region', { name: 'Pinned' }).getByRole('link', { name: 'one chat' }).waitFor();
      await nav.getByRole('button', { name: 'Chats', exact: true }).press('Enter');
      await nav.getByRole('link', { name: 'three chat' }).waitFor({ state: 'hidden' });
      await page.reload();
      await nav.getByRole('button', { name: 'Chats', exact: true }).waitFor();
      expect(await nav.getByRole('link', { name: 'three chat' }).isVisible()).toBe(false);
    }
    await act('one chat', 'Rename');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('The first');
    await page.keyboard.press('Enter');
    await group('Pinned').getByText('The first').waitFor();
    await page.getByRole('button', { name: 'Select' }).press('Enter');
    await page.getByLabel('Select two chat').press('Space');
    await page.getByLabel('Select three chat').press('Space');
    await page.getByRole('toolbar').getByText('2 chats selected').waitFor();
    await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByText('2 chats deleted').waitFor();
    await expect.poll(() => page.locator('main li').count()).toBe(1);
    expect(page.wrongs).toEqual([]);
  });

  test('a chat is exported as one page that runs and loads nothing', async () => {
    const at = await share([
      { text: 'Hi <script>alert(1)</script> **there** [x](javascript:alert(2)) ![y](https://evil.example/z.png)' },
    ]);
    const page = await open(at, '/chat', { viewport });
    await say(page, `export ${width}`);
    await finished(page);
    await page.getByRole('button', { name: 'More for this chat' }).press('Enter');
    const saved = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'Export as HTML' }).press('Enter');
    const html = await readFile(await (await saved).path(), 'utf8');
    expect(html).toContain('<strong>there</strong>');
    expect(html).toContain("default-src 'none'");
    expect(html).not.toMatch(/<script|javascript:|<img/);
  });

  test('a long message of one’s own folds, and a new chat takes the default agent unless another is pinned', async () => {
    const agents = [
      { id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'act' },
      { id: 'optimist', name: 'Optimist', model: 'mine/some-model', tier: 'act' },
    ];
    const at = await share([{ text: 'Read.' }], { agents });
    const page = await open(at, '/chat', { viewport });
    const choose = async (entry: RegExp) => {
      await page.getByRole('button', { name: /^Agent:/ }).press('Enter');
      await page.getByRole('menuitem').or(page.getByRole('menuitemradio')).filter({ hasText: entry }).press('Enter');
    };
    await choose(/^Optimist/);
    await say(page, Array.from({ length: 40 }, (_, index) => `line ${index}`).join('\n'));
    await finished(page);
    const fold = log(page).getByRole('button', { name: 'Show all' });
    const height = () =>
      log(page)
        .getByRole('article', { name: 'You' })
        .evaluate((one) => one.clientHeight);
    const folded = await height();
    await fold.press('Enter');
    await expect.poll(height).toBeGreaterThan(folded * 2);
    await log(page).getByRole('article', { name: 'Optimist' }).waitFor();
    await page.goto(`${at.url}/chat`);
    await page.getByRole('button', { name: 'Agent: Main' }).waitFor();
    await choose(/^Optimist/);
    await choose(/^Always start with Optimist/);
    await page.reload();
    await page.getByRole('button', { name: 'Agent: Optimist' }).waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('an error says a sentence, keeps the raw text behind Details, and is tried again with another model', async () => {
    const at = await play([{ refused: 401 }, { text: 'Now it works.' }], {
      agents: [
        { id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'act' },
        { id: 'other', name: 'Other', model: 'mine/other-model', tier: 'act' },
      ],
    });
    const page = await open(at, '/chat', { viewport });
    await say(page, 'hello');
    const alert = page.getByRole('alert');
    await alert.getByText('The provider rejected this key.').waitFor();
    expect(await alert.locator('details').getAttribute('open')).toBeNull();
    await alert.getByText('Details', { exact: true }).press('Enter');
    await alert.getByText(/401/).waitFor();
    await alert.getByRole('button', { name: 'Retry with another model' }).press('Enter');
    await page.getByRole('menuitem', { name: /other-model/ }).press('Enter');
    await log(page).getByText('Now it works.').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('a provider that is refused is not left behind', async () => {
    const at = await play([]);
    const page = await open(at, '/settings/providers', { viewport });
    await page.getByRole('button', { name: 'Add' }).press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('nowhere');
    await dialog.getByLabel('Address').fill('http://127.0.0.1:9/v1');
    await dialog.getByLabel('Key').fill('k');
    await dialog.getByRole('button', { name: 'Save and test' }).press('Enter');
    await dialog.getByText('Nothing was saved.').waitFor();
    const names = async () =>
      ((await (await at.api('/api/admin/providers')).json()) as { providers: { name: string }[] }).providers.map(
        ({ name }) => name,
      );
    expect(await names()).not.toContain('nowhere');
    await dialog.getByRole('button', { name: 'save it anyway' }).press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await names()).toContain('nowhere');
  });

  test('the drafted task is read as a task, and its file is one press away', async () => {
    const at = await play(COMPANION_ANSWERS, {
      files: HOUSE,
      agents: [{ id: 'careful', name: 'Careful', default: true, model: 'mine/some-model', tier: 'suggest' }],
    });
    await tellCompanion(at, 'What speaks against larch?');
    const page = await open(at, '/inbox', { viewport });
    const card = page.locator('[data-draft][data-open]');
    await card.getByText('New task').waitFor();
    await card.getByRole('group', { name: 'Text' }).getByText('Two mills, oak and larch.').waitFor();
    expect(await card.locator('.diff').isVisible()).toBe(false);
    await card.getByText('Show the file').press('Enter');
    await card.locator('.diff').getByText('+status: todo').waitFor();
    expect(await page.title()).toBe('(1) Inbox · Onyx');
    expect(page.wrongs).toEqual([]);
  });

  test('footnotes lead to their note, and the match that is counted stands out', async () => {
    const at = await share([{ text: 'Larch is soft[^1] and larch is cheap.\n\n[^1]: 3.4 kN, says the mill.' }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'which?');
    await finished(page);
    await log(page).getByRole('button', { name: 'Footnote 1' }).press('Enter');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('3.4 kN, says the mill.');
    await page.keyboard.press('Control+f');
    await page.keyboard.type('larch');
    await page.getByText('1/1').waitFor();
    const marked = (name: string) => page.evaluate((key) => CSS.highlights.get(key)?.size ?? 0, name);
    await expect.poll(() => marked('found')).toBe(2);
    await expect.poll(() => marked('found-current')).toBe(1);
  });

  test('code opens in a panel: a table as a table, a drawing as a picture that runs nothing; Esc closes', async () => {
    const drawing =
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script><image href="https://evil.example/x.png"/></svg>';
    const at = await share([
      { text: `\`\`\`csv\nwood,price\n"oak, old",96\n\`\`\`\n\n\`\`\`svg\n${drawing}\n\`\`\`\n` },
    ]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'make them');
    await finished(page);
    const buttons = log(page).getByRole('button', { name: 'Open in a panel' });
    await buttons.first().press('Enter');
    await page.getByRole('dialog').getByRole('cell', { name: 'oak, old' }).waitFor();
    const saved = page.waitForEvent('download');
    await page.getByRole('dialog').getByRole('button', { name: 'Download' }).press('Enter');
    expect((await saved).suggestedFilename()).toBe('artifact.csv');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await buttons.last().press('Enter');
    await page.getByRole('dialog').getByAltText('The drawing').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('an empty chat begins with the person’s own actions', async () => {
    const at = await play([{ text: 'Three things are due.' }], {
      files: { 'people/owner/vault/agent/actions/Morning brief.md': 'What is due?\n' },
    });
    const page = await open(at, '/chat', { viewport });
    await page.getByRole('list', { name: 'Suggestions' }).getByRole('button', { name: 'Morning brief' }).press('Enter');
    await page.waitForURL(/\/chat\/.+/);
    await log(page).getByText('Three things are due.').waitFor();
    expect(page.wrongs).toEqual([]);
  });
});

test('on a phone the bar has four places, More is a list, and a thumb reaches chat and settings', async () => {
  const at = await play([{ text: 'Hello.' }]);
  const page = await open(at, '/chat', touch);
  const bar = page.getByRole('navigation', { name: 'Main' });
  await bar.getByRole('link', { name: 'More' }).waitFor();
  expect((await bar.getByRole('link').allInnerTexts()).map((text) => text.trim())).toEqual([
    'Chats',
    'Inbox',
    'Spaces',
    'More',
  ]);
  await composer(page).tap();
  await page.keyboard.type('hi');
  await page.getByRole('button', { name: 'Send' }).tap();
  await log(page).getByText('Hello.').waitFor();
  await bar.getByRole('link', { name: 'Chats' }).tap();
  await page.locator('main').getByRole('link', { name: /^hi/ }).waitFor();
  await page.getByRole('link', { name: 'New chat' }).tap();
  await composer(page).waitFor();
  await bar.getByRole('link', { name: 'More' }).tap();
  const settings = page.locator('main').getByRole('link', { name: /^Settings/ });
  await settings.waitFor();
  const small = await tooSmall(page);
  expect(small).toEqual([]);
  await settings.tap();
  await page.locator('main').getByRole('link', { name: 'General' }).tap();
  await page.getByRole('radio', { name: 'Dark' }).waitFor();
  await page.getByRole('link', { name: 'Back' }).tap();
  await page.locator('main').getByRole('link', { name: 'General' }).waitFor();
  expect(page.wrongs).toEqual([]);
});

/** The elements that are too small for a thumb. */
const tooSmall = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('main a, main button, nav a')]
      .filter((one) => one.getClientRects().length > 0 && one.getBoundingClientRect().height < 44)
      .map((one) => one.textContent),
  );

test('at 1280 the sidebar keeps every section in sight with eight chats', async () => {
  const at = await play([]);
  for (let index = 0; index < 8; index += 1) await told(at, `chat number ${index}`);
  const page = await open(at, '/inbox', { viewport: WIDE });
  const nav = page.getByRole('navigation', { name: 'Main' });
  await nav.getByRole('link', { name: 'chat number 7' }).waitFor();
  for (const name of ['All channels', 'All agents']) {
    const box = await nav.getByRole('link', { name }).boundingBox();
    const edge = await nav.getByRole('link', { name: 'Memory' }).boundingBox();
    expect((box?.y ?? 9999) + (box?.height ?? 0)).toBeLessThanOrEqual(edge?.y ?? 0);
  }
});
