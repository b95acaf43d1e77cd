// A person's own LinkedIn account: connected in the browser, tested, refused, disconnected; by keyboard and by touch.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brokenAnywhere } from './axe';
import { press, tabTo, tooWide, TOUCH } from './hands';
import { linkedInServer } from './linkedin-server';
import { clearsAfterEach, open, play, WIDTHS } from './play';
import type { Stage } from './stage';

clearsAfterEach();

let maker: Awaited<ReturnType<typeof linkedInServer>>;
beforeAll(async () => {
  maker = await linkedInServer();
});
afterAll(() => maker.end());

async function home(): Promise<Stage> {
  const at = await play([], { tools: { linkedin: maker.settings } });
  await at.api('/api/admin/secrets/linkedin', { method: 'PUT', body: JSON.stringify({ value: 'hush-hush' }) });
  await expect
    .poll(async () => ((await (await at.api('/api/linkedin')).json()) as { trouble: unknown }).trouble)
    .toBe(null);
  return at;
}

/** The errors except for the navigation to LinkedIn's page, which is intended. */
const ours = (wrongs: string[]) => wrongs.filter((wrong) => !wrong.includes('/oauth/v2/authorization'));

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('an account is connected, tested, taken back, connected again and disconnected by keys alone', async () => {
    const at = await home();
    const page = await open(at, '/settings/you', { viewport });
    const section = page.getByRole('region', { name: 'LinkedIn' });
    await section.getByText('Not connected.').waitFor();
    await press(page, 'Connect LinkedIn');
    await section.getByRole('link', { name: 'Open LinkedIn' }).waitFor();
    await press(page, /^Open LinkedIn/);
    await section.getByText(/^Connected as ada@example\.org, until .*\d/).waitFor();
    expect(page.url()).toBe(`${at.url}/settings/you`);
    await press(page, 'Test LinkedIn');
    await section.getByText(/^LinkedIn accepted the sign-in at/).waitFor();
    expect(await brokenAnywhere(page, 'connected', () => tooWide(page))).toEqual([]);
    await page.setViewportSize(viewport);
    maker.removeAccess();
    await tabTo(page, 'Test LinkedIn');
    await page.keyboard.press('Enter');
    await section.getByText('LinkedIn no longer accepts the sign-in of ada@example.org. Connect again.').waitFor();
    expect(await brokenAnywhere(page, 'refused', () => tooWide(page))).toEqual([]);
    await page.setViewportSize(viewport);
    await press(page, 'Reconnect');
    await section.getByRole('link', { name: 'Open LinkedIn' }).waitFor();
    await press(page, /^Open LinkedIn/);
    await section.getByText(/^Connected as ada@example\.org/).waitFor();
    await press(page, 'Disconnect LinkedIn');
    await section.getByText('Not connected.').waitFor();
    expect(ours(page.wrongs)).toEqual([]);
  });
});

test('an account is connected and disconnected by touch', async () => {
  const at = await home();
  const page = await open(at, '/settings/you', TOUCH);
  const section = page.getByRole('region', { name: 'LinkedIn' });
  await section.getByRole('button', { name: 'Connect LinkedIn' }).tap();
  await section.getByRole('link', { name: 'Open LinkedIn' }).tap();
  await section.getByText(/^Connected as ada@example\.org/).waitFor();
  await section.getByRole('button', { name: 'Disconnect LinkedIn' }).tap();
  await section.getByText('Not connected.').waitFor();
  expect(ours(page.wrongs)).toEqual([]);
});

test('a page that brings back what nobody began connects nothing, and says so', async () => {
  const at = await home();
  const page = await open(at, '/api/linkedin/callback?state=planted&code=planted');
  const section = page.getByRole('region', { name: 'LinkedIn' });
  await section.getByText('Not connected.').waitFor();
  await page.getByText('No sign-in waits.').waitFor();
  expect(page.url()).toBe(`${at.url}/settings/you`);
});

test('where nothing is set up, the owner reads what to do', async () => {
  const at = await play([]);
  const page = await open(at, '/settings/you');
  const section = page.getByRole('region', { name: 'LinkedIn' });
  await section.getByText(`${at.url}/api/linkedin/callback`).waitFor();
  expect(await section.getByRole('button').count()).toBe(0);
  expect(await brokenAnywhere(page, 'not set up', () => tooWide(page))).toEqual([]);
});
