import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { HOSTILE } from '../test/hostile';
import { composer, finished, log, sessionOf, toast, words } from './play';
import { PHONE, stage, visit, WIDE, type Answer, type Stage, type Visit } from './stage';

const FOLDER = 'people/owner/vault/agent/actions';
const EVIL = '<img src=x onerror=window.pwned=1>';
const FILES = {
  [`${FOLDER}/Broken.md`]: '---\nmax_steps: many\n---\nx\n',
  [`${FOLDER}/Extract links.prompt.md`]:
    '---\nrequires_confirmation: true\nmax_steps: 4\n---\nWrite the links of {{person}}.\n',
  [`${FOLDER}/Morning brief.md`]: 'Brief me.\n',
  [`${FOLDER}/Sum up.md`]: 'Sum up: {{selection}}\n',
  [`${FOLDER}/${EVIL}.md`]: `---\nrequires_confirmation: true\n---\n${HOSTILE.join('\n\n')}\n`,
};
const digest = (id: string): Answer => ({
  calls: [{ id, name: 'write_file', input: { path: 'digest.md', content: '# Links\n' } }],
});
// The answers, in the order of the tests.
const ANSWERS: Answer[] = [
  digest('dry'),
  { text: 'I would keep them in one file.' },
  digest('real'),
  { text: 'They are in one file.' },
  { text: 'Hm', hang: true },
  { text: 'The boats, in short.' },
  { text: 'Nothing is due.' },
  { text: HOSTILE.map((text) => `${text}\n\n`) },
];

let at: Stage;
let page: Visit;

beforeAll(async () => {
  at = await stage(ANSWERS, { files: FILES });
  page = await visit(at, '/actions');
});
afterAll(async () => {
  await page.context().close();
  await at.end();
});
beforeEach(() => void (page.wrongs.length = 0));

const dialog = () => page.getByRole('dialog');
const button = (name: string) => page.getByRole('button', { name, exact: true });
const written = () => readFile(join(at.home, 'people/owner/vault/digest.md'), 'utf8').catch(() => undefined);
const sessions = async () => ((await (await at.api('/v1/sessions')).json()) as { sessions: unknown[] }).sessions.length;

test('an action that asks first shows what it is told and what it would do, then runs before one’s eyes and leaves a page', async () => {
  await page.getByText('Does not run: max_steps').waitFor();
  expect(await button('Run Broken').isDisabled()).toBe(true);
  await button('Run Extract links').click();
  await dialog().getByText('Write the links of owner.').waitFor();
  await dialog().getByRole('button', { name: 'Preview' }).click();
  await dialog().getByText('I would keep them in one file.').waitFor();
  await dialog().getByText('would be done').waitFor();
  await dialog().getByText('+# Links').waitFor();
  expect(await written()).toBeUndefined();
  await expect.poll(sessions).toBe(0);
  await dialog().getByRole('button', { name: 'Run', exact: true }).click();
  const run = page.getByRole('region', { name: 'Run of Extract links' });
  await run.getByText('Wrote').waitFor();
  await run.getByText('They are in one file.').waitFor();
  await run.getByText('done', { exact: true }).waitFor();
  expect(await written()).toBe('# Links\n');
  const past = page.getByRole('region', { name: 'Past runs' }).getByRole('button', { name: /Extract links/ });
  await past.click();
  await page.getByRole('heading', { name: 'Answer' }).waitFor();
  await page.reload();
  await past.waitFor();
  expect(page.wrongs).toEqual([]);
});

test('a run is stopped, and a file that comes, changes or is made here is a button at once', async () => {
  await button('Run Morning brief').click();
  const run = page.getByRole('region', { name: 'Run of Morning brief' });
  await run.getByText('Hm').waitFor();
  await run.getByRole('button', { name: 'Stop' }).click();
  await run.getByRole('status').getByText('stopped').waitFor();
  await writeFile(join(at.home, FOLDER, 'From elsewhere.md'), 'x\n');
  await button('Refresh').click();
  await page.getByRole('heading', { name: 'From elsewhere' }).waitFor();
  await button('New action').click();
  await dialog().getByRole('button', { name: 'Extract links' }).click();
  await dialog().getByLabel('Name').fill('Collect');
  await dialog().getByLabel('Ask before it runs').check();
  await dialog().getByRole('button', { name: 'Create' }).click();
  await toast(page, 'Collect was created');
  await page.getByRole('heading', { name: 'Collect' }).waitFor();
  expect(await readFile(join(at.home, FOLDER, 'Collect.md'), 'utf8')).toMatch(
    /^---\nrequires_confirmation: true\n---\nGo through/,
  );
  expect(page.wrongs).toEqual([]);
});

test('beside the composer of a phone it takes along what is written, in the palette it opens its chat', async () => {
  await page.setViewportSize(PHONE);
  await page.goto(`${at.url}/chat`);
  await composer(page).fill('the boats');
  await button('Actions').click();
  await page.getByRole('menuitem', { name: 'Sum up' }).click();
  await page.waitForURL(/\/chat\/./);
  await log(page).getByText('The boats, in short.').waitFor();
  expect(await words(at, sessionOf(page))).toEqual(['Sum up: the boats']);
  expect(await composer(page).inputValue()).toBe('');
  await finished(page);
  await button('Actions').click();
  await page.getByRole('menuitem', { name: 'Sum up' }).click();
  // Nothing is selected or typed, so the dialog asks for the input.
  expect(await dialog().getByRole('button', { name: 'Run', exact: true }).isDisabled()).toBe(true);
  const box = await dialog().boundingBox();
  expect(box && box.x >= 0 && box.x + box.width <= PHONE.width).toBe(true);
  await dialog().getByRole('button', { name: 'Cancel' }).click();
  await page.setViewportSize(WIDE);
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Run Morning brief' }).click();
  await log(page).getByText('Nothing is due.').waitFor();
  expect(await words(at, sessionOf(page))).toEqual(['Brief me.']);
  expect(page.wrongs).toEqual([]);
});

test('a hostile name, prompt and result run nothing and load nothing', async () => {
  await page.goto(`${at.url}/actions`);
  await button(`Run ${EVIL}`).click();
  await dialog().getByLabel('Prompt').waitFor();
  await dialog().getByRole('button', { name: 'Run', exact: true }).click();
  const run = page.getByRole('region', { name: `Run of ${EVIL}` });
  await run.getByText('done', { exact: true }).waitFor();
  await page.getByRole('region', { name: 'Past runs' }).getByRole('button', { name: EVIL }).click();
  await page.getByRole('heading', { name: 'Answer' }).waitFor();
  await page.locator('figure').first().waitFor();
  expect(await page.evaluate(() => (window as { pwned?: unknown }).pwned)).toBeUndefined();
  expect(page.wrongs).toEqual([]);
});
