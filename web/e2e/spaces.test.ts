// Everything that a person does in a space, with one server and mostly one page.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOSTILE } from '../test/hostile';
import { HOUSE } from './house';
import { beside, clearsAfterEach, composer, log, say, toast } from './play';
import { PHONE, stage, visit, type Answer, type Stage, type Visit } from './stage';

const AGENTS = [
  { id: 'careful', name: 'Careful', default: true, model: 'mine/some-model', tier: 'suggest' },
  { id: 'main', name: 'Main', model: 'mine/some-model', tier: 'act' },
];
/** The time limit is long, because the machine may be busy. */
const PATIENT = { timeout: 60_000 };
const WORDS = Array.from({ length: 45 }, (_, index) => `word${index} `);
const propose = (id: string, title: string): Answer => ({
  calls: [{ id, name: 'propose_change', input: { op: 'create', type: 'task', title, body: 'Soon.' } }],
});
/** The answers, in the order of the tests. */
const ANSWERS: Answer[] = [
  {
    calls: [
      { id: 'a', name: 'read', input: { type: 'page', id: 'nowhere' } },
      { id: 'b', name: 'read', input: { type: 'page', id: 'floor' } },
    ],
  },
  { text: WORDS, delayMs: 50 },
  propose('c', 'Order samples'),
  { text: 'It is drafted.' },
  { refused: 401 },
  { text: 'Here I am.' },
  { text: 'Once and no more.' },
  { text: 'I was not asked.' },
  { text: 'First.', delayMs: 250 },
  { text: 'Second.' },
  { text: 'On the phone.' },
];

const HOSTILE_HOUSE = {
  'people/owner/spaces/hostile/space.json': JSON.stringify({ name: '<img src=x onerror="window.pwned = 1">' }),
  'people/owner/spaces/hostile/pages/a.md': HOSTILE.join('\n\n'),
  'people/owner/spaces/hostile/refs/a.md': `---\norigin: external\ntitle: "[x](javascript:window.pwned=1)"\nsource: "javascript:window.pwned=1"\n---\n${HOSTILE.join('\n\n')}`,
  ...Object.fromEntries(
    HOSTILE.filter((text) => !text.includes('\n')).map((text, index) => [
      `people/owner/spaces/hostile/tasks/t${index}.md`,
      `---\ntitle: ${JSON.stringify(text)}\nstatus: ${JSON.stringify(index === 0 ? text : 'todo')}\n---\n`,
    ]),
  ),
};

let at: Stage;
let page: Visit;

clearsAfterEach();
beforeAll(async () => {
  at = await stage(ANSWERS, { agents: AGENTS, files: { ...HOUSE, ...HOSTILE_HOUSE } });
  page = await visit(at, '/spaces');
});
afterAll(async () => {
  await page.context().close();
  await at.end();
});

const onDisk = (path: string) => readFile(join(at.home, 'people/owner/spaces', path), 'utf8').catch(() => undefined);
const card = (of: Page) => of.locator('[data-draft]').last();
const rail = (of: Page) => of.locator('[aria-label=Companion]');
const home = (path: string) => go(page, `/spaces/home-renovation/${path}`);
const widthOf = async (part: Locator) => Math.round((await part.boundingBox())?.width ?? 0);
const isWide = (part: Locator, width: number) => expect.poll(() => widthOf(part), PATIENT).toBe(width);
const text = (of: Page) => of.getByRole('textbox', { name: 'Text', exact: true });
/** Navigates within the app without loading it again. */
const go = (of: Page, path: string) =>
  of.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);

async function answer(dialog: string, words: string, action: string): Promise<void> {
  await page.getByRole('dialog', { name: dialog }).getByRole('textbox').fill(words);
  await page.getByRole('dialog', { name: dialog }).getByRole('button', { name: action }).click();
}

async function talk(): Promise<{ id: string; turns: { type: string; content?: unknown; view?: unknown }[] }> {
  const { conversation_id: id } = (await (await at.api('/api/spaces/home-renovation/companion')).json()) as {
    conversation_id: string;
  };
  const { turns } = (await (await at.api(`/v1/sessions/${id}/turns`)).json()) as {
    turns: { type: string; content?: unknown; view?: unknown }[];
  };
  return { id, turns };
}
const said = async (words: string) =>
  (await talk()).turns.filter((turn) => turn.type === 'user' && turn.content === words).length;

test('a space is made, a page is written, and of two who change it neither loses a word', async () => {
  await page.getByRole('button', { name: 'New space' }).click();
  await answer('Name of the new space', 'Garden', 'Create');
  await page.waitForURL('**/spaces/garden/pages');
  await page.getByText('Nothing written yet.').waitFor();
  await page.getByRole('button', { name: 'New page' }).click();
  await answer('Title of the new page', 'Beds', 'Create');
  await text(page).fill('Beans\n');
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  expect(await onDisk('garden/pages/beds.md')).toContain('\nBeans\n');

  // The page saves automatically after a second; its request is held until the other change is made.
  let release = () => {};
  const held = new Promise<void>((resolve) => void (release = resolve));
  const beds = '**/api/spaces/garden/pages/beds';
  await page.route(beds, async (route) => {
    if (route.request().method() === 'PATCH') await held;
    await route.continue();
  });
  await text(page).fill('Beans\nPeas\n');
  await at.api('/api/spaces/garden/pages/beds', { method: 'PATCH', body: JSON.stringify({ body: 'Beans\nLeek\n' }) });
  release();
  // Either the page gets the notice, or saving is refused; both lead to the conflict.
  await page.keyboard.press('Control+s');
  const conflict = page.getByRole('alert', { name: 'Changed elsewhere' });
  await conflict.getByText('+Peas').waitFor();
  await conflict.getByText('-Leek').waitFor();
  expect(await onDisk('garden/pages/beds.md')).toContain('Leek');
  await page.unroute(beds);
  await page.reload();
  await conflict.getByText('+Peas').waitFor();
  await conflict.getByRole('button', { name: 'Keep both' }).click();
  await toast(page, 'Your version is saved as “Beds (my version)”');
  await expect.poll(async () => (await text(page).innerText()).trim(), PATIENT).toBe('Beans\nLeek');
  await page.getByRole('navigation', { name: 'In this space' }).getByRole('link', { name: 'Pages' }).click();
  await expect.poll(() => page.getByRole('list', { name: 'Pages' }).getByRole('listitem').count(), PATIENT).toBe(2);
  expect(await onDisk('garden/pages/beds-my-version.md')).toContain('Peas');

  await page.getByRole('button', { name: 'More for Garden' }).click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await answer('Name of this space', 'Allotment', 'Rename');
  await page.getByRole('heading', { name: 'Allotment', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'More for Allotment' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.waitForURL('**/spaces');
  await page.getByRole('list', { name: 'Spaces' }).getByText('Home renovation').waitFor();
  await expect.poll(() => page.getByText('Allotment').count(), PATIENT).toBe(0);
  expect(page.wrongs.filter((wrong) => !wrong.includes('412'))).toEqual([]);
  page.wrongs = [];
});

test('tasks are added and moved by keys, by dragging and by a menu', async () => {
  const column = (name: string) => page.getByRole('region', { name, exact: true });
  const status = async () =>
    ((await (await at.api('/api/spaces/home-renovation/tasks/buy-oil')).json()) as { status: string }).status;
  await home('tasks');
  await page.getByRole('textbox', { name: 'Add a task' }).fill('Buy oil');
  await page.keyboard.press('Enter');
  await column('To do').getByRole('link', { name: 'Buy oil' }).focus();
  await page.keyboard.press('Shift+ArrowRight');
  await column('Doing').getByRole('link', { name: 'Buy oil' }).waitFor();
  await expect.poll(status, PATIENT).toBe('doing');
  // The card keeps the focus after the board was loaded again, so the next key moves it on.
  const inHand = () => page.evaluate(() => document.activeElement?.textContent);
  await expect.poll(inHand, PATIENT).toContain('Buy oil');
  await page.keyboard.press('Shift+ArrowRight');
  await column('Waiting').getByRole('link', { name: 'Buy oil' }).waitFor();
  await expect.poll(status, PATIENT).toBe('waiting');
  await column('Waiting').getByRole('link', { name: 'Buy oil' }).dragTo(column('Doing'));
  await column('Doing').getByRole('link', { name: 'Buy oil' }).waitFor();
  await expect.poll(status, PATIENT).toBe('doing');
  await page.getByRole('button', { name: 'Move Buy oil' }).click();
  await page.getByRole('menuitemradio', { name: 'To do' }).click();
  await expect.poll(status, PATIENT).toBe('todo');
  expect(page.wrongs).toEqual([]);
});

test('words and files are captured as refs from outside, and what fails can be tried again', async () => {
  await home('refs');
  const box = page.getByRole('form', { name: 'Capture' });
  const refs = page.getByRole('list', { name: 'Refs' });
  await box.getByRole('textbox').fill('Larch softens underfoot.');
  await box.getByRole('button', { name: 'Capture', exact: true }).click();
  await refs.getByText('Larch softens').first().waitFor();
  await box.locator('input[type=file]').setInputFiles([
    {
      name: 'mill.html',
      mimeType: 'text/html',
      buffer: Buffer.from(
        '<title>The mill</title><article><h1>The mill</h1><p>Boards of 140 mm are guaranteed with underfloor heating, says the mill in a long enough sentence.</p></article>',
      ),
    },
    { name: 'prices.pdf', mimeType: 'application/pdf', buffer: pdf('Oak costs 96 a square metre') },
  ]);
  await refs.getByText('The mill').waitFor();
  await refs.getByText('prices').waitFor();
  await refs.getByText('The mill').click();
  await page.getByText('from outside').waitFor();
  await page.getByText('140 mm are guaranteed').waitFor();
  await page.goBack();
  // No address of this machine is fetched.
  await box.getByRole('textbox').fill(`${at.model}/page`);
  await page.keyboard.press('Enter');
  await box.getByRole('alert').getByText('was not captured').waitFor();
  await box.getByRole('alert').getByRole('button', { name: 'Retry' }).waitFor();
  page.wrongs = page.wrongs.filter((wrong) => !/4\d\d/.test(wrong));
  expect(page.wrongs).toEqual([]);
});

test('the companion answers about what one looks at, and goes on whatever page is shown', async () => {
  await home('pages/floor');
  await say(page, 'What speaks against larch?');
  await rail(page).getByRole('list', { name: 'Steps' }).getByText('Could not').waitFor();
  await log(page).getByText('word1 ').waitFor();
  await go(page, '/inbox');
  await page.getByText('Nothing is waiting for you').waitFor();
  await page.goBack();
  await log(page).getByText('word20 ').waitFor();
  await page.reload();
  await log(page).getByText('word44').waitFor();
  await page.locator('article[aria-busy=false]').waitFor();
  expect((await log(page).innerText()).match(/word7 /g)).toHaveLength(1);
  const { id, turns } = await talk();
  expect(turns.find((turn) => turn.type === 'user')).toMatchObject({
    content: 'What speaks against larch?',
    view: { entity_type: 'page', entity_id: 'floor' },
  });

  // The conversation opens in its space, wherever the link is.
  await go(page, `/chat/${id}`);
  await page.waitForURL('**/spaces/home-renovation#companion');
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search chats or type a command').fill('renovation');
  await page.getByRole('option', { name: 'Home renovation' }).first().click();
  await page.waitForURL('**/spaces/home-renovation');
  expect(page.wrongs).toEqual([]);
});

test('a draft is approved in the rail, and the Inbox shows the same', async () => {
  await home('tasks');
  await say(page, 'Make a task of it');
  // The draft is shown as a task; its file is behind a toggle.
  await card(page).getByText('Order samples', { exact: true }).first().waitFor();
  const inbox = await beside(page, at, '/inbox');
  await card(inbox).getByText('Order samples', { exact: true }).first().waitFor();
  // A tab in the background is drawn rarely, which delays clicks.
  await page.bringToFront();
  expect(await onDisk('home-renovation/tasks/order-samples.md')).toBeUndefined();
  await rail(page).getByRole('button', { name: 'Collapse the companion' }).click();
  await page.getByRole('button', { name: 'Open the companion, 1 draft waits' }).click();
  await card(page).getByRole('button', { name: 'Approve' }).click();
  await card(page)
    .getByText(/Approved and done/)
    .waitFor();
  await card(inbox)
    .getByText(/Approved and done/)
    .waitFor();
  expect(await onDisk('home-renovation/tasks/order-samples.md')).toContain('Soon.');
  await page.getByRole('link', { name: 'Order samples' }).waitFor();
  expect([...page.wrongs, ...inbox.wrongs]).toEqual([]);
  await inbox.close();
});

test('an answer that fails can be asked for again, and no word is lost or said twice', async () => {
  await say(page, 'Are you there?');
  await rail(page).getByRole('alert').getByRole('button', { name: 'Retry' }).click();
  await log(page).getByText('Here I am.').waitFor();
  expect(await said('Are you there?')).toBe(1);

  // The server stores the message but its answer is lost: the app finds the message and does not send it again.
  await page.route(
    '**/api/conversations/*/messages',
    async (route) => (await route.fetch(), await route.abort('internetdisconnected')),
    { times: 1 },
  );
  // The app looks for the message after a second, and is held there until it was seen waiting.
  let look = () => {};
  const held = new Promise<void>((resolve) => void (look = resolve));
  const looks = /\/api\/conversations\/[^/]+\/messages\?/;
  await page.route(looks, async (route) => (await held, await route.continue()), { times: 1 });
  await say(page, 'Only once');
  await log(page).getByText('waiting for the connection').waitFor();
  look();
  await log(page).getByText('Once and no more.').waitFor();
  expect(await said('Only once')).toBe(1);

  // The message is stored on the server, but nobody has requested its answer. During an answer it would get one.
  await log(page).locator('article[aria-busy=true]').waitFor({ state: 'detached' });
  const { id } = await talk();
  await at.api(`/api/conversations/${id}/messages`, {
    method: 'POST',
    body: JSON.stringify({ content: 'From elsewhere' }),
  });
  await page.reload();
  await rail(page).getByRole('button', { name: 'Ask now' }).click();
  await log(page).getByText('I was not asked.').waitFor();

  // Further messages wait for the answer, also if it has not begun when they are said.
  await log(page).locator('article[aria-busy=true]').waitFor({ state: 'detached' });
  let begin = () => {};
  const begun = new Promise<void>((resolve) => void (begin = resolve));
  const requests = /\/api\/conversations\/[^/]+\/stream/;
  await page.route(requests, async (route) => (await begun, await route.continue()), { times: 1 });
  await say(page, 'one');
  await say(page, 'two');
  const newest = async () => {
    const answer = await at.api(`/api/conversations/${id}/messages`);
    return ((await answer.json()) as { messages: { content: string }[] }).messages.at(-1)?.content;
  };
  await expect.poll(newest, PATIENT).toBe('two');
  begin();
  await log(page).getByText('Second.').waitFor();
  const order = (await log(page).innerText()).replace(/\s+/g, ' ');
  expect(order).toMatch(/one .*First\..*two .*Second\./);
  page.wrongs = page.wrongs.filter((wrong) => !wrong.includes('ERR_'));
  expect(page.wrongs).toEqual([]);
});

test('the rail is resized, collapsed, laid over the page, and a sheet on a phone', async () => {
  await home('pages/floor');
  const edge = rail(page).getByRole('separator');
  const box = await edge.boundingBox();
  await isWide(rail(page), 360);
  const [x, y] = [(box?.x ?? 0) + 4, (box?.y ?? 0) + 200];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x - 100, y, { steps: 4 });
  await page.mouse.up();
  await isWide(rail(page), 460);
  await page.reload();
  await edge.waitFor();
  await isWide(rail(page), 460);
  await edge.dblclick();
  await isWide(rail(page), 360);
  await edge.press('End');
  await isWide(rail(page), 560);
  expect(await edge.getAttribute('aria-valuenow')).toBe('560');
  await edge.press('Enter');
  await rail(page).getByRole('button', { name: 'Collapse the companion' }).click();
  await page.keyboard.press('Enter');
  await expect.poll(() => page.evaluate(() => document.activeElement?.id), PATIENT).toBe('composer');
  await rail(page).getByRole('button', { name: 'Answers here: Careful. Change' }).click();
  await page.getByRole('menuitemradio', { name: /Main/ }).click();
  await rail(page).getByRole('button', { name: 'Answers here: Main. Change' }).waitFor();

  await page.setViewportSize({ width: 1024, height: 768 });
  const tab = page.getByRole('button', { name: 'Open the companion' });
  await isWide(tab, 40);
  const before = await widthOf(page.getByRole('article').first());
  await tab.click();
  await rail(page).getByRole('log').waitFor();
  // The rail is over the page, which keeps its width except for the rail's tab.
  expect(Math.abs((await widthOf(page.getByRole('article').first())) - before)).toBeLessThanOrEqual(40);
  await page.keyboard.press('Escape');
  await tab.waitFor();

  await page.setViewportSize(PHONE);
  await page.locator('header').getByRole('button', { name: 'Open the companion' }).click();
  await expect.poll(() => rail(page).boundingBox(), PATIENT).toEqual({ x: 0, y: 0, ...PHONE });
  await composer(page).fill('And here?');
  await rail(page).getByRole('button', { name: 'Send' }).click();
  await log(page).getByText('On the phone.').waitFor();
  await rail(page).getByRole('button', { name: 'Close the companion' }).click();
  await expect.poll(() => page.getByLabel('Title', { exact: true }).inputValue(), PATIENT).toBe('Floor: oak or larch');
  expect(page.wrongs).toEqual([]);
});

test('hostile pages, refs and names run nothing and load nothing from elsewhere', async () => {
  await page.setViewportSize({ width: 1280, height: 800 });
  for (const path of [
    '/spaces/hostile/refs/a',
    '/spaces/hostile/tasks',
    '/spaces/hostile/pages/a',
    '/spaces/hostile/refs',
    '/spaces',
  ]) {
    await go(page, path);
    const shown = {
      '/spaces': page.getByRole('list', { name: 'Spaces' }),
      tasks: page.getByRole('region', { name: 'To do' }).getByRole('link').first(),
      refs: page.getByRole('list', { name: 'Refs' }),
    }[path.split('/hostile/')[1] ?? path];
    // This page opens in its editor; both the editor and the reading view must be safe.
    if (path.endsWith('/pages/a')) {
      await text(page).waitFor();
      await page.getByRole('radio', { name: 'Read' }).click();
    }
    await (shown ?? page.locator('.prose .diagram').first()).waitFor();
    expect(await page.locator('a[href^=javascript]').count()).toBe(0);
  }
  expect(await page.evaluate(() => (window as unknown as { pwned?: number }).pwned)).toBeUndefined();
  expect(page.wrongs).toEqual([]);
});

/** The smallest PDF with some text. */
function pdf(words: string): Buffer {
  const stream = `BT /F1 24 Tf 72 700 Td (${words}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
  ];
  let body = '%PDF-1.4\n';
  const places = objects.map((object, index) => {
    const place = body.length;
    body += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const table = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('');
  return Buffer.from(
    `${body}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`,
    'latin1',
  );
}
