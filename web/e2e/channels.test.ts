import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { HOSTILE } from '../test/hostile';
import { brokenAnywhere } from './axe';
import { known, thread } from './channel';
import { composer, log, say } from './play';
import { PHONE, stage, visit, type Answer, type Stage, type Visit } from './stage';
import { Sky } from './weather';

const AGENTS = [
  { id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'act' },
  { id: 'scout', name: 'Scout', model: 'mine/some-model', tier: 'act' },
];
const NOTES = Object.fromEntries(
  Array.from({ length: 120 }, (_, index) => [
    `people/owner/vault/archive/note-${index}.md`,
    `# Note ${index}\n\nOf the archive.\n`,
  ]),
);
const PAPERS = {
  'people/owner/vault/papers/plan.md': '# Plan\n\nThe launch is in May.\n',
  'people/owner/vault/papers/broken.pdf': 'no pdf at all',
};

let at: Stage;
let page: Visit;
let sky: Sky;

beforeAll(async () => {
  at = await stage([], { agents: AGENTS, files: { ...NOTES, ...PAPERS }, contextWindow: 16_000 });
  page = await visit(at, '/channels', { reducedMotion: 'reduce' });
  sky = new Sky(page);
});
afterEach(() => expect(page.wrongs.splice(0).filter((wrong) => !/status of 4(00|04|22)/.test(wrong))).toEqual([]));
afterAll(async () => {
  await page.context().close();
  await at.end();
});

const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
const dialog = () => page.getByRole('dialog');
const answers = (name: string) => log(page).getByRole('article', { name });
const source = (name: string) => page.getByRole('region', { name });
const threadId = () => new URL(page.url()).pathname.split('/').pop() ?? '';
interface Told {
  id: string;
  role: string;
  author: string;
  content: string;
  status: string;
}
const told = async (id = threadId()) =>
  ((await (await at.api(`/api/threads/${id}/messages`)).json()) as { messages: Told[] }).messages;
const saidBy = async (role: string) =>
  (await told()).filter((message) => message.role === role).map(({ content }) => content);

test('a channel is made with its space, staffed, renamed', async () => {
  await page.getByText('In a channel, several agents answer').waitFor();
  await button('New channel').first().click();
  await dialog().getByLabel('Name').fill('launch');
  await dialog().getByLabel('Purpose').fill('Plan the launch.');
  await dialog().getByLabel('Space').fill('Home');
  await dialog().getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: '# launch' }).waitFor();
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'launch' }).waitFor();

  await page.getByText('No coworkers yet').waitFor();
  for (const name of ['Main', 'Scout']) {
    await button('Add a coworker').click();
    await page.getByRole('menuitem', { name }).click();
    await button(`Remove ${name}`).waitFor();
  }
  await page.getByRole('radio', { name: 'Primary: Scout' }).check();
  await button('Remove Scout').click();
  await button('Remove Scout').waitFor({ state: 'detached' });
  expect(await page.getByRole('radio', { name: 'Primary: Main' }).isChecked()).toBe(true);
  await button('Add a coworker').click();
  await page.getByRole('menuitem', { name: 'Scout' }).click();
  await button('Remove Scout').waitFor();

  await button('More for this channel').click();
  await page.getByRole('menuitem', { name: 'Name and purpose' }).click();
  await dialog().getByLabel('Purpose').fill('Plan the launch in May.');
  await dialog().getByRole('button', { name: 'Save' }).click();
  await page.getByText('Plan the launch in May.').waitFor();
  const { channels } = (await (await at.api('/api/channels')).json()) as { channels: object[] };
  expect(channels).toMatchObject([
    {
      id: 'launch',
      name: 'launch',
      space: 'home',
      purpose: 'Plan the launch in May.',
      coworkers: [
        { agent: 'main', primary: true },
        { agent: 'scout', primary: false },
      ],
    },
  ]);
});

async function add(kind: string, label: string, value: string, title?: string): Promise<void> {
  await button('Add a source').click();
  await dialog().getByRole('radio', { name: kind }).click();
  await dialog().getByLabel(label, { exact: true }).fill(value);
  if (title) await dialog().getByLabel('Title').fill(title);
  await dialog().getByRole('button', { name: 'Add', exact: true }).click();
  await dialog().waitFor({ state: 'detached' });
}

test('sources show how far their import is, what of them failed, are looked at again and removed', async () => {
  await add('Vault', 'Path', 'archive/');
  await page.getByText(/^Importing \d+ of 120/).waitFor();
  await source('archive').getByRole('button', { name: '120 documents' }).waitFor();

  await add('Vault', 'Path', 'papers/');
  await source('papers').getByRole('button', { name: '1 of 2 documents could not be read' }).click();
  const documents = source('papers').getByRole('list', { name: 'Documents' });
  expect(
    await documents.getByRole('listitem').filter({ hasText: 'broken.pdf' }).locator('.text-danger').textContent(),
  ).not.toBe('');
  await at.write({ 'people/owner/vault/papers/extra.md': '# Extra\n' });
  await source('papers').getByRole('button', { name: 'Sync papers' }).click();
  await source('papers').getByRole('button', { name: '1 of 3 documents could not be read' }).waitFor();

  // Tools cannot reach addresses of this machine.
  await add('Web page', 'Address', 'http://127.0.0.1:1/secret', 'Inside');
  await source('Inside').locator('.text-danger').waitFor();

  await button('Add a source').click();
  await dialog().getByRole('radio', { name: 'Vault' }).click();
  await dialog().getByLabel('Path').fill('../../etc');
  await dialog().getByRole('button', { name: 'Add', exact: true }).click();
  await dialog().getByRole('alert').waitFor();
  await dialog().getByRole('button', { name: 'Cancel' }).click();

  for (const name of ['Inside', 'archive', 'papers']) {
    await source(name)
      .getByRole('button', { name: `Remove ${name}` })
      .click();
    await dialog().getByRole('button', { name: 'Remove' }).click();
    await source(name).waitFor({ state: 'detached' });
  }
  await page.getByText('No sources yet.').waitFor();
});

test('a thread is begun: words and a typing coworker at once, the answer as it comes, and what was retrieved from four scopes', async () => {
  const filler = 'Zinnober and more of it. '.repeat(60);
  for (const [type, id] of [
    ['space', 'home'],
    ['agent', 'main'],
  ] as const)
    await known(at, { type, id }, `Of the ${type}`, `Zinnober of the ${type}.`);
  for (let index = 0; index < 12; index += 1)
    await known(at, { type: 'channel', id: 'launch' }, `Long ${index}`, `Zinnober number ${index}. ${filler}`);
  await add('Text', 'Text', `Zinnober Zinnober Zinnober\n\n${HOSTILE.join('\n\n')}`, HOSTILE[1]);

  await at.script([{ hang: true }]);
  await say(page, 'What colour is Zinnober?');
  await page.waitForURL(/\/channels\/launch\/[0-9a-f-]+$/);
  await log(page).getByRole('article', { name: 'You' }).getByText('What colour is Zinnober?').waitFor();
  await page
    .locator('article[aria-label=Main][aria-busy=true]')
    .getByText(/^(Thinking|Working)$/)
    .waitFor();
  await button('Stop').click();
  await log(page).getByText('Stopped').last().waitFor();
  await at.script([{ text: ['Zinnober ', 'is ', 'red.'], delayMs: 100 }]);
  await button('Retry').click();
  await answers('Main').getByText('Zinnober is red.').waitFor();
  // Until the log is read, the stopped answer is there too.
  await page.locator('article[aria-busy=true]').waitFor({ state: 'detached' });
  await page.getByText('has read outside content').waitFor();
  await expect
    .poll(async () => (await told()).at(-1))
    .toMatchObject({ author: 'main', content: 'Zinnober is red.', status: 'complete' });

  await known(at, { type: 'thread', id: threadId() }, 'Of the thread', 'Zinnober of the thread.');
  await at.script([{ text: 'Still red.' }]);
  await say(page, `Zinnober again? ${HOSTILE[0]} ${HOSTILE[16]}`);
  await answers('Main').getByText('Still red.').waitFor();
  await answers('Main').last().getByRole('button', { name: 'What was retrieved' }).click();
  const panel = page.getByRole('complementary', { name: 'What was retrieved' });
  await panel.getByText(/^Given: \d+, about .* of 3\.2k tokens; no room for \d+/).waitFor();
  for (const scope of ['This thread', 'Channel', 'Space', 'Coworkers'])
    await panel.getByRole('region', { name: scope }).getByRole('article').first().waitFor();
  expect(await panel.getByText('no room for it').count()).toBeGreaterThan(0);
  await panel.getByText('Searched by words only').waitFor();
  expect(await brokenAnywhere(page, 'what was retrieved')).toEqual([]);
  // Foreign content is shown as plain text.
  const hostile = panel.getByRole('article').filter({ hasText: 'window.pwned' });
  await hostile.first().waitFor();
  expect(await panel.locator('img, script, svg image, iframe, form, base').count()).toBe(0);
  expect(await page.evaluate(() => 'pwned' in window)).toBe(false);

  // A passage links to its source at the line.
  const piece = panel.getByRole('region', { name: 'Space' }).getByRole('article').first();
  expect(await piece.getByRole('link').getAttribute('href')).toMatch(/^\/memory\?path=spaces%2Fhome%2F.*line=1/);
  await panel.getByRole('searchbox').fill('Xylophonquark');
  await panel.getByText('Would be given: 0').waitFor();
  await panel.getByRole('tab', { name: 'Known in this thread' }).click();
  await source('Of the thread').waitFor();
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
});

test('names are completed after @, and everybody who is called answers', async () => {
  await composer(page).fill('Compare, ');
  await composer(page).pressSequentially('@sc');
  await page.getByRole('listbox', { name: 'Coworkers' }).getByRole('option', { name: 'Scout' }).waitFor();
  await page.keyboard.press('Enter');
  expect(await composer(page).inputValue()).toBe('Compare, @Scout ');
  await composer(page).pressSequentially('and @');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Escape');
  await page.getByRole('listbox').waitFor({ state: 'detached' });
  await composer(page).pressSequentially('ma');
  expect(await page.getByRole('listbox').count()).toBe(0);
  await composer(page).fill('Compare, @Scout ');
  await composer(page).pressSequentially('and @m');
  await page.getByRole('option', { name: 'Main' }).click();
  expect(await composer(page).inputValue()).toBe('Compare, @Scout and @Main ');
  await page.getByText('Scout, Main answer').waitFor();
  await at.script([{ hang: true }]);
  await composer(page).press('Enter');
  // Both answers are shown before either agent has spoken.
  await page.locator('article[aria-label=Scout][aria-busy=true]').waitFor();
  await page.locator('article[aria-label=Main][aria-busy=true]').waitFor();
  await button('Stop').click();
  await log(page).getByText('Stopped').last().waitFor();
  await at.script([{ text: 'Scout thinks so.' }, { text: 'Main does not.' }]);
  await say(page, '@Scout, @Main: compare');
  await answers('Scout').getByText('Scout thinks so.').waitFor();
  await answers('Main').getByText('Main does not.').waitFor();
  const last = async () => (await told()).slice(-2).map(({ author, status }) => [author, status]);
  await expect.poll(last).toEqual([
    ['scout', 'complete'],
    ['main', 'complete'],
  ]);
});

test('an answer is stopped, asked for again in its place, fails and is asked for again; what is said meanwhile waits', async () => {
  await at.script([{ text: 'Half', hang: true }]);
  await say(page, 'Something long, please');
  await answers('Main').getByText('Half').waitFor();
  await button('Stop').click();
  await log(page).getByText('Stopped').last().waitFor();
  await expect.poll(async () => (await told()).at(-1)).toMatchObject({ content: 'Half', status: 'cancelled' });
  await at.script([{ refused: 401 }]);
  await button('Retry').click();
  await log(page).getByRole('alert').getByRole('button', { name: 'Copy details' }).waitFor();
  await at.script([{ text: 'Whole at last.' }]);
  await log(page).getByRole('alert').getByRole('button', { name: 'Retry' }).click();
  await answers('Main').getByText('Whole at last.').waitFor();
  await log(page).getByRole('alert').waitFor({ state: 'detached' });
  await expect.poll(async () => (await told()).at(-1)).toMatchObject({ content: 'Whole at last.', status: 'complete' });

  await at.script([{ text: 'First', hang: true }, { text: 'Second.' }]);
  await say(page, 'One');
  await answers('Main').getByText('First').waitFor();
  await say(page, 'Two');
  await log(page).getByText('waits for the current answer').waitFor();
  await page.reload();
  await answers('Main').getByText('First').waitFor();
  await log(page).getByText('waits for the current answer').waitFor();
  await button('Stop').click();
  await answers('Main').getByText('Second.').waitFor();

  await at.script([{ text: 'Third', hang: true }]);
  await say(page, 'Three');
  await answers('Main').getByText('Third').waitFor();
  await say(page, 'Never mind');
  await button('Undo').click();
  await log(page).getByText('It will be sent with your next message').waitFor();
  await button('Stop').click();
  // Earlier answers were stopped too.
  await log(page).locator('article[aria-busy=true]').waitFor({ state: 'detached' });
  expect(await saidBy('user')).toContain('Never mind');
});

test('a line that is cut in the middle is taken up again: nothing is lost, nothing doubled', async () => {
  const pieces = Array.from({ length: 30 }, (_, index) => `piece-${index} `);
  const next = await thread(at, 'launch', 'Cut');
  await sky.watch();
  await page.goto(`${at.url}/channels/launch/${next}`);
  await page.getByText('No messages yet.').waitFor();
  await at.script([{ text: pieces, delayMs: 60 }]);
  await say(page, 'Count');
  await answers('Main').getByText('piece-2').waitFor();
  await sky.change('offline');
  await say(page, 'Said without a line');
  await log(page).getByText('waiting for the connection').waitFor();
  await sky.change('live');
  await answers('Main').getByText('piece-29').waitFor();
  expect((await answers('Main').first().locator('.prose').innerText()).trim()).toBe(pieces.join('').trim());
  await answers('Main').getByText('ok', { exact: true }).waitFor();
  expect(await saidBy('user')).toEqual(['Count', 'Said without a line']);

  // The messages arrive but the server's answers are lost: the app finds the messages and does not send them again.
  let lost = 0;
  await page.route(/\/api\/threads\/[^/]+\/messages$/, async (route) => {
    if (route.request().method() !== 'POST' || lost > 0) return route.fallback();
    lost += 1;
    await route.fetch();
    await route.abort('connectionreset');
  });
  await at.script([{ text: 'Heard once.' }]);
  await say(page, 'Did you hear?');
  await answers('Main').getByText('Heard once.').waitFor();
  await log(page).getByText('waiting for the connection').waitFor({ state: 'detached' });
  expect(lost).toBe(1);
  expect(await saidBy('user')).toEqual(['Count', 'Said without a line', 'Did you hear?']);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  page.wrongs = page.wrongs.filter((wrong) => !/ERR_CONNECTION_RESET|Failed to load resource/.test(wrong));
});

test('a draft is decided where it is; a thread is renamed, found from elsewhere, and deleted; the phone has it all', async () => {
  await page.setViewportSize(PHONE);
  const draft: Answer[] = [
    {
      calls: [
        { id: 'p', name: 'propose_change', input: { op: 'create', type: 'page', title: 'Colours', body: 'Red.' } },
      ],
    },
    { text: 'Drafted.' },
  ];
  await at.script(draft);
  await say(page, 'Write it down');
  await answers('Main').getByText('Drafted.').waitFor();
  await answers('Main').getByRole('button', { name: 'Approve' }).click();
  await answers('Main')
    .getByText(/Approved and done/)
    .waitFor();

  await button('What is retrieved').click();
  const panel = page.getByRole('complementary', { name: 'What was retrieved' });
  await panel.getByText('For the sent message').waitFor();
  expect((await panel.boundingBox())?.width).toBe(PHONE.width);
  await panel.getByRole('button', { name: 'Close' }).click();

  await button('More for this thread').click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await dialog().getByRole('textbox').fill('Colours of May');
  await dialog().getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('heading', { name: 'Colours of May', level: 1 }).waitFor();
  const id = threadId();
  await page.goto(`${at.url}/chat/${id}`);
  await page.waitForURL(new RegExp(`/channels/launch/${id}$`));
  await button('More for this thread').click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await dialog().getByRole('button', { name: 'Delete' }).click();
  await page.waitForURL(/\/channels\/launch$/);
  await page
    .getByRole('list', { name: 'Threads' })
    .getByRole('link', { name: /What colour is Zinnober/ })
    .waitFor();
  expect(await page.getByRole('link', { name: /Colours of May/ }).count()).toBe(0);

  await button('More for this channel').click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await dialog().getByRole('button', { name: 'Delete' }).click();
  await page.getByText('In a channel, several agents answer').waitFor();
});
