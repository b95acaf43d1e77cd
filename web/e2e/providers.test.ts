// Providers by keyboard and by touch: the signed-in account and its end, tests, the default model and its fallbacks.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorization } from './authorization';
import { brokenAnywhere } from './axe';
import { press, tabTo, tooWide, TOUCH } from './hands';
import { clearsAfterEach, open, play, WIDTHS } from './play';
import type { Stage } from './stage';

clearsAfterEach();

let maker: Awaited<ReturnType<typeof authorization>>;
beforeAll(async () => {
  maker = await authorization();
});
afterAll(() => maker.end());

const put = (at: Stage, name: string, settings: object) =>
  at.api(`/api/admin/providers/${name}`, { method: 'PUT', body: JSON.stringify({ settings }) });
const chain = async (at: Stage) => (await at.api('/api/admin/default-model')).json();

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('a provider is signed in to, tested and signed in to again after it was revoked, by keys alone', async () => {
    const at = await play([], { providers: {} });
    await put(at, 'work', { kind: 'openai', baseUrl: at.model, login: maker.login });
    const page = await open(at, '/settings/providers', { viewport });
    const row = page.locator('.card > div').filter({ hasText: 'work' });
    await row.getByText('Not signed in.').waitFor();
    await press(page, 'Sign in');
    await row.getByLabel('Code', { exact: true }).waitFor();
    // The sign-in cannot be renewed, so the page shows when it ends.
    maker.decide({ seconds: 3600, renews: false });
    await row.getByText(/^Signed in as octocat, until .*\d/).waitFor();
    await tabTo(page, 'Test', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await row.getByText(/^It works: 1 model/).waitFor();
    expect(await brokenAnywhere(page, 'signed in', () => tooWide(page))).toEqual([]);
    await page.setViewportSize(viewport);
    await press(page, 'Sign out');
    await row.getByText('Not signed in.').waitFor();
    await tabTo(page, 'Sign in');
    await page.keyboard.press('Enter');
    await row.getByLabel('Code', { exact: true }).waitFor();
    maker.decide({ seconds: 1 });
    await row.getByText('Signed in as octocat').waitFor();
    // The provider revokes the sign-in: the page shows one sentence and one button.
    await expect
      .poll(async () => {
        await tabTo(page, 'Test');
        await page.keyboard.press('Enter');
        return row.getByRole('button', { name: 'Sign in again' }).count();
      })
      .toBe(1);
    const sentence = await row.getByRole('status').first().innerText();
    expect(sentence.split('.').filter((part) => part.trim() !== '')).toHaveLength(1);
    expect(await brokenAnywhere(page, 'revoked', () => tooWide(page))).toEqual([]);
    await page.setViewportSize(viewport);
    await press(page, 'Sign in again');
    await row.getByLabel('Code', { exact: true }).waitFor();
    await press(page, 'Cancel');
    expect(page.wrongs).toEqual([]);
  });

  test('the default model and those to ask after it are chosen and ordered by keys alone', async () => {
    const at = await play([], { providers: {} });
    await put(at, 'ordered', { kind: 'openai', baseUrl: at.model, apiKey: 'k', models: ['one', 'two', 'three'] });
    const page = await open(at, '/settings/providers', { viewport });
    await page.getByLabel('Choose the default model').waitFor();
    await tabTo(page, 'Choose the default model');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => chain(at)).toEqual({ primary: 'ordered/one', fallbacks: [] });
    await tabTo(page, 'Add a fallback model');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => chain(at)).toEqual({ primary: 'ordered/one', fallbacks: ['ordered/two'] });
    await tabTo(page, 'Move ordered/two up', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => chain(at)).toEqual({ primary: 'ordered/two', fallbacks: ['ordered/one'] });
    await press(page, 'Move ordered/two down', 'Space');
    await expect.poll(() => chain(at)).toEqual({ primary: 'ordered/one', fallbacks: ['ordered/two'] });
    await press(page, 'Remove the model ordered/two');
    await expect.poll(() => chain(at)).toEqual({ primary: 'ordered/one', fallbacks: [] });
    expect(await brokenAnywhere(page, 'default model', () => tooWide(page))).toEqual([]);
    expect(page.wrongs).toEqual([]);
  });
});

test('the order of the models is changed by drag', async () => {
  const at = await play([], { providers: {} });
  await put(at, 'ordered', { kind: 'openai', baseUrl: at.model, apiKey: 'k', models: ['one', 'two'] });
  await at.api('/api/admin/default-model', {
    method: 'PUT',
    body: JSON.stringify({ primary: 'ordered/one', fallbacks: ['ordered/two'] }),
  });
  const page = await open(at, '/settings/providers');
  const rows = page.getByRole('region', { name: 'Default model' }).getByRole('listitem');
  await rows.nth(1).getByText('ordered/two').dragTo(rows.nth(0).getByText('ordered/one'));
  await expect.poll(() => chain(at)).toEqual({ primary: 'ordered/two', fallbacks: ['ordered/one'] });
});

test('signing in, testing and ordering are done by touch', async () => {
  const at = await play([], { providers: {} });
  const models = ['one', 'two'];
  await put(at, 'work', { kind: 'openai', baseUrl: at.model, login: maker.login, models });
  const page = await open(at, '/settings/providers', TOUCH);
  const row = page.locator('.card > div').filter({ hasText: 'work' });
  await row.getByRole('button', { name: 'Sign in', exact: true }).tap();
  await row.getByLabel('Code', { exact: true }).waitFor();
  maker.decide({ seconds: 3600 });
  await row.getByText('Signed in as octocat').waitFor();
  await row.getByRole('button', { name: 'Test' }).tap();
  await row.getByText(/^It works/).waitFor();
  const section = page.getByRole('region', { name: 'Default model' });
  await section.getByLabel('Choose the default model').selectOption('work/one');
  await section.getByLabel('Add a fallback model').selectOption('work/two');
  await section.getByRole('button', { name: 'Move work/two up' }).tap();
  await expect.poll(() => chain(at)).toEqual({ primary: 'work/two', fallbacks: ['work/one'] });
  expect(await tooWide(page)).toEqual([]);
  expect(page.wrongs).toEqual([]);
});
