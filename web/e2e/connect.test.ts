import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorization } from './authorization';
import { brokenAnywhere } from './axe';
import { go, settled } from './going';
import { ollama } from './ollama';
import { clearsAfterEach, log, open, play, say, share, toast, WIDTHS } from './play';
import { PHONE, WIDE, type Setting } from './stage';

clearsAfterEach();

let maker: Awaited<ReturnType<typeof authorization>>;
let here: Awaited<ReturnType<typeof ollama>>;
beforeAll(async () => {
  [maker, here] = await Promise.all([
    authorization(),
    ollama(['nomic-embed-text', 'llama3:latest', 'qwen3:8b'], 'hello from next door'),
  ]);
});
afterAll(() => (maker.end(), here.end()));

/** A home where only the small embedded model would answer. */
const FRESH: Setting = { providers: {}, agents: [{ id: 'main', name: 'Main', default: true, tier: 'act' }] };

describe.each(WIDTHS)('at %s px', (width, viewport) => {
  test('what runs on this machine is one press away, in the first chat and in the settings', async () => {
    const at = await play([], { ...FRESH, ollama: here.port });
    const page = await open(at, '/chat', { viewport });
    const card = page.getByRole('region', { name: 'Connect a better model' });
    await card.getByText('Ollama is running here with 3 models').waitFor();
    if (width === '1280') expect(await brokenAnywhere(page, 'found')).toEqual([]);
    await page.setViewportSize(viewport);
    await card.getByRole('button', { name: 'Use Ollama' }).click();
    await card.getByText('Main answers with ollama/llama3:latest now').waitFor();
    await card.getByText(/^It works: 3 models, \d+ ms\.$/).waitFor();
    await card.getByRole('button', { name: 'Done' }).click();
    await card.waitFor({ state: 'detached' });
    await say(page, 'hi');
    await log(page).getByText('hello from next door').waitFor();
    await go(page, '/settings/providers');
    const add = page.getByRole('button', { name: 'Add Ollama' });
    expect(await add.count()).toBe(0);
    await page.getByRole('button', { name: 'Remove ollama' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await add.click();
    await page.getByText(/^It works: 3 models, \d+ ms\.$/).waitFor();
    await add.waitFor({ state: 'detached' });
    expect(page.wrongs).toEqual([]);
  });
});

test('a first home is signed in to a provider by a code, over a reload too', async () => {
  const at = await play([{ text: 'hello, octocat' }], FRESH);
  const page = await open(at, '/chat', { viewport: PHONE });
  const card = page.getByRole('region', { name: 'Connect a better model' });
  await card.getByRole('button', { name: 'Sign in' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Kind').selectOption('Another provider (sign in)');
  await dialog.getByLabel('Address', { exact: true }).fill(at.model);
  await dialog.getByLabel('Client ID').fill('the-tests');
  await dialog.getByLabel('Address for codes').fill(`${maker.url}/device`);
  await dialog.getByLabel('Address for tokens').fill(`${maker.url}/token`);
  await dialog.getByRole('button', { name: 'Save and sign in' }).click();
  const code = await card.getByLabel('Code', { exact: true }).innerText();
  expect(code).toMatch(/^ABCD-\d{4}$/);
  await page.reload();
  await card.getByText(code).waitFor();
  maker.decide({ seconds: 3600 });
  await card.getByRole('button', { name: 'work/scripted' }).click();
  await card.waitFor({ state: 'detached' });
  await say(page, 'hi');
  await log(page).getByText('hello, octocat').waitFor();
  expect(page.wrongs).toEqual([]);
});

test('a provider is signed in to, out of, refused, given up and lapses, each in its words', async () => {
  const at = await share([]);
  const settings = { kind: 'openai', baseUrl: at.model, login: maker.login };
  await at.api('/api/admin/providers/work', { method: 'PUT', body: JSON.stringify({ settings }) });
  // This page has a stopped clock, which the test moves.
  const page = await open(at, '/nowhere', { colorScheme: 'light' });
  let asked = 0;
  page.on(
    'request',
    (request) => (asked += request.method() === 'GET' && request.url().endsWith('work/login') ? 1 : 0),
  );
  await page.clock.install();
  await go(page, '/settings/providers');
  const row = page.locator('.card > div').filter({ hasText: 'work' });
  const press = (name: string) => row.getByRole('button', { name, exact: true }).click();
  const reads = (words: string | RegExp) =>
    expect
      .poll(async () => (await page.clock.runFor(2_000), row.getByRole('status').first().innerText()))
      .toMatch(words);
  await row.getByText('Not signed in.').waitFor();
  await press('Sign in');
  const code = await row.getByLabel('Code', { exact: true }).innerText();
  await row.getByText('15 min left').waitFor();
  const link = row.getByRole('link', { name: `Open ${new URL(maker.url).host}` });
  expect([await link.getAttribute('href'), await link.getAttribute('target'), await link.getAttribute('rel')]).toEqual([
    `${maker.url}/enter`,
    '_blank',
    'noopener noreferrer',
  ]);
  await row.getByRole('button', { name: 'Copy the code' }).click();
  await toast(page, 'Code copied');
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(code);
  expect(await brokenAnywhere(page, 'signing in')).toEqual([]);

  // Nothing is requested while the page is hidden.
  const hide = (hidden: boolean) =>
    page.evaluate((is) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => is });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  await hide(true);
  await settled(page);
  const before = asked;
  await page.clock.runFor(10_000);
  expect(asked).toBe(before);
  await hide(false);
  await expect.poll(() => asked).toBeGreaterThan(before);
  maker.decide({ seconds: 3600 });
  await reads('Signed in as octocat');
  await settled(page);
  const after = asked;
  await page.clock.runFor(10_000);
  expect(asked).toBe(after);
  await press('Test');
  await row.getByText(/^It works: 1 model/).waitFor();

  await page.setViewportSize(PHONE);
  await press('Sign out');
  await row.getByText('Not signed in.').waitFor();
  await press('Sign in');
  await row.getByLabel('Code', { exact: true }).waitFor();
  maker.decide({ error: 'access_denied' });
  await expect
    .poll(async () => (await page.clock.runFor(2_000), row.getByRole('button', { name: 'Retry' }).count()))
    .toBe(1);
  await press('Retry');
  await row.getByLabel('Code', { exact: true }).waitFor();
  await press('Cancel');
  await row.getByText('Not signed in.').waitFor();
  await press('Sign in');
  await row.getByLabel('Code', { exact: true }).waitFor();
  maker.decide({ seconds: 1 });
  await reads('Signed in as octocat');
  await expect
    .poll(
      async () => (
        await press('Test'), await page.clock.runFor(2_000), row.getByRole('button', { name: 'Sign in again' }).count()
      ),
    )
    .toBe(1);
  await page.setViewportSize(WIDE);
  expect(await brokenAnywhere(page, 'lapsed')).toEqual([]);
  expect(page.wrongs).toEqual([]);
});

test('a browser that ends elsewhere is told to Onyx by the address of its last page', async () => {
  const at = await share([]);
  const { deviceUrl, ...login } = maker.login;
  const settings = { kind: 'openai', baseUrl: at.model, login: { ...login, authorizeUrl: `${maker.url}/authorize` } };
  expect(deviceUrl).toContain('/device');
  await at.api('/api/admin/providers/browser', { method: 'PUT', body: JSON.stringify({ settings }) });
  const page = await open(at, '/settings/providers', { viewport: PHONE });
  const row = page.locator('.card > div').filter({ hasText: 'browser' });
  await row.getByRole('button', { name: 'Sign in', exact: true }).click();
  const link = row.getByRole('link', { name: `Open ${new URL(maker.url).host}` });
  const sent = new URL((await link.getAttribute('href')) ?? '').searchParams;
  expect(await row.getByLabel('Code', { exact: true }).isVisible()).toBe(false);
  const ended = row.getByLabel('If the browser ends at a page that does not load, paste its address:');
  await ended.fill('https://example.org/?code=x&state=y');
  await row.getByRole('button', { name: 'Continue' }).click();
  await toast(page, 'does not belong to the sign-in');
  maker.decide({ seconds: 3600 });
  await ended.fill(`${sent.get('redirect_uri')}?code=x&state=${sent.get('state')}`);
  await row.getByRole('button', { name: 'Continue' }).click();
  await row.getByText('Signed in as octocat').waitFor();
  expect(await brokenAnywhere(page, 'signed in')).toEqual([]);
});

test('the secret of a provider that has more than a key is kept sealed, only named, and goes with it', async () => {
  const at = await share([]);
  const page = await open(at, '/settings/providers', { viewport: WIDE });
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Kind').selectOption('Amazon Bedrock');
  await dialog.getByLabel('Region').fill('eu-central-1');
  await dialog.getByLabel('Access key ID', { exact: true }).fill('KEYEXAMPLE');
  await dialog.getByLabel('Secret access key').fill('hush-hush-hush');
  await dialog.getByRole('button', { name: 'Save and test' }).click();
  // This build does not contain Bedrock, and the form says so.
  await dialog.getByText('Nothing was saved.').waitFor();
  const secrets = async () => {
    const answer = (await (await at.api('/api/admin/secrets')).json()) as { secrets: { name: string }[] };
    return answer.secrets.map(({ name }) => name);
  };
  expect(await secrets()).not.toContain('bedrock.secretAccessKey');
  await dialog.getByRole('button', { name: 'save it anyway' }).click();
  await dialog.waitFor({ state: 'detached' });
  const written = await at.api('/api/admin/providers/bedrock');
  const { settings } = (await written.json()) as { settings: object };
  expect(settings).toMatchObject({
    credentials: { aws: { region: 'eu-central-1', secretAccessKey: 'secret:bedrock.secretAccessKey' } },
  });
  expect(await secrets()).toContain('bedrock.secretAccessKey');
  await page.getByRole('button', { name: 'Remove bedrock' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect.poll(secrets).not.toContain('bedrock.secretAccessKey');
});

test('the default model and those to ask after it are chosen and put in order by keys', async () => {
  const at = await share([]);
  const settings = { kind: 'openai', baseUrl: at.model, apiKey: 'k', models: ['one', 'two'] };
  await at.api('/api/admin/providers/ordered', { method: 'PUT', body: JSON.stringify({ settings }) });
  const page = await open(at, '/settings/providers', { viewport: WIDE });
  const section = page.getByRole('region', { name: 'Default model' });
  await section.getByText('The first provider that works').waitFor();
  await section.getByLabel('Choose the default model').selectOption('ordered/one');
  await section.getByLabel('Add a fallback model').selectOption('ordered/two');
  const up = section.getByRole('button', { name: 'Move ordered/two up' });
  await up.focus();
  await page.keyboard.press('Enter');
  const written = async () => (await at.api('/api/admin/default-model')).json();
  await expect.poll(written).toEqual({ primary: 'ordered/two', fallbacks: ['ordered/one'] });
  const rows = section.getByRole('listitem');
  await rows.nth(1).getByText('ordered/one').dragTo(rows.nth(0).getByText('ordered/two'));
  await expect.poll(written).toEqual({ primary: 'ordered/one', fallbacks: ['ordered/two'] });
  await section.getByRole('button', { name: 'Remove the model ordered/one' }).click();
  await section.getByRole('button', { name: 'Remove the model ordered/two' }).click();
  await section.getByText('The first provider that works').waitFor();
  expect(await brokenAnywhere(page, 'default model')).toEqual([]);
});
