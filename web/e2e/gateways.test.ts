// The card of the gateways: what each does, which one answers, and draining one by keyboard and one by touch.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { brokenAnywhere } from './axe';
import { press, tabTo, tooWide, TOUCH } from './hands';
import { clearsAfterEach, open, play } from './play';
import { place, type Place } from './servers';
import type { Stage } from './stage';

clearsAfterEach();

let shared: Place;
beforeAll(async () => {
  shared = await place();
});
afterAll(() => shared.end());

const gateway = (id: string): Promise<Stage> => play([], { gateway: shared.gateway(id) });

test('gateways are shown with what they do, and one is drained by keys alone', async () => {
  const [one, two] = [await gateway('east'), await gateway('west')];
  const page = await open(one, '/system');
  const section = page.getByRole('region', { name: 'Gateways' });
  const row = (id: string) => section.getByRole('listitem').filter({ hasText: id });
  await row('east').getByText('answers you now').waitFor();
  await row('west').getByText('Serving').waitFor();
  expect(await row('west').getByText('answers you now').count()).toBe(0);
  await row('west')
    .getByText(/^Onyx \d+\.\d+\.\d+ · started just now · last heartbeat \d/)
    .waitFor();
  expect(await brokenAnywhere(page, 'gateways', () => tooWide(page))).toEqual([]);
  await press(page, 'Drain west');
  await page.getByText('It accepts no new work.').waitFor();
  await tabTo(page, 'Cancel', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await row('west').getByText('Serving').waitFor();
  await press(page, 'Drain west');
  await tabTo(page, 'Drain');
  await page.keyboard.press('Enter');
  await row('west').getByText('Drained', { exact: true }).waitFor();
  expect(await row('west').getByRole('button').count()).toBe(0);
  expect((await fetch(`${two.url}/ready`)).status).toBe(503);
  const chat = await two.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message: 'hi' }) });
  expect([chat.status, ((await chat.json()) as { code: string }).code]).toEqual([503, 'storage_unavailable']);
  expect(await brokenAnywhere(page, 'drained', () => tooWide(page))).toEqual([]);
  expect(page.wrongs).toEqual([]);
});

test('one that died is taken off the list by touch, and a process of its own has no such card', async () => {
  const [one, two] = [await gateway('north'), await gateway('south')];
  const page = await open(one, '/system', TOUCH);
  const section = page.getByRole('region', { name: 'Gateways' });
  const row = (id: string) => section.getByRole('listitem').filter({ hasText: id });
  await row('south').getByText('Serving').waitFor();
  await two.kill();
  await row('south').getByText('Not answering').waitFor();
  await row('south').getByRole('button', { name: 'Remove south' }).tap();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).tap();
  await row('south').waitFor({ state: 'detached' });
  expect(await tooWide(page)).toEqual([]);
  const alone = await play([]);
  const other = await open(alone, '/system', TOUCH);
  await other.getByText('Check again').waitFor();
  expect(await other.getByRole('region', { name: 'Gateways' }).count()).toBe(0);
  expect([...page.wrongs, ...other.wrongs]).toEqual([]);
});
