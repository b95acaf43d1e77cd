// Plugins by keyboard and by touch: what a plugin asks for is shown before it can be enabled, and a failing one shows
// why.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { brokenAnywhere } from './axe';
import { press, tabTo, tooWide, TOUCH } from './hands';
import { clearsAfterEach, open, play, toast, WIDTHS } from './play';
import type { Stage } from './stage';

clearsAfterEach();

const client = (path: string) =>
  readFile(fileURLToPath(new URL(`../../clients/plugin-py/${path}`, import.meta.url)), 'utf8');

/** Adds the example that vetoes a word, as its readme says. */
async function bringCareful(at: Stage): Promise<void> {
  const names = ['plugin.json', 'main.py', 'dev.onyx/onyx.json'];
  const files = await Promise.all(names.map(async (name) => [name, await client(`example/${name}`)] as const));
  await bring(at, Object.fromEntries([...files, ['onyx_plugin.py', await client('onyx_plugin.py')]]));
}

const SCHEMA = 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json';

/** A plugin whose program ends with a message as soon as it is started. */
const FRAGILE = {
  'plugin.json': JSON.stringify({ $schema: SCHEMA, name: 'fragile', version: '0.1.0', description: 'Falls over.' }),
  'dev.onyx/onyx.json': JSON.stringify({
    command: ['sh', 'main.sh'],
    hooks: [{ event: 'after_tool' }],
    grants: { events: ['after_tool'], people: ['*'] },
  }),
  'main.sh': 'echo "no such cupboard" >&2\nexit 3\n',
};

async function bring(at: Stage, files: Record<string, string>): Promise<void> {
  const list = Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text).toString('base64') }));
  const added = await at.api('/api/admin/plugins', { method: 'POST', body: JSON.stringify({ files: list }) });
  expect([added.status, await added.text()]).toMatchObject([201, expect.anything()]);
}

async function enabled(at: Stage, name: string): Promise<boolean> {
  return ((await (await at.api(`/api/admin/plugins/${name}`)).json()) as { enabled: boolean }).enabled;
}

const setWord = (at: Stage) =>
  at.api('/api/admin/plugins/careful/config', { method: 'PUT', body: JSON.stringify({ word: 'swordfish' }) });

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('a plugin is read, accepted, set up, switched on and off and removed by keys alone', async () => {
    const at = await play([]);
    await bringCareful(at);
    const page = await open(at, '/plugins', { viewport });
    const careful = page.getByRole('region', { name: 'careful' });
    await careful.getByText('If you accept it, it can:').waitFor();
    await careful.getByText('Block every tool call before it happens of write_file, edit_file').waitFor();
    expect(await careful.getByRole('switch').count()).toBe(0);
    await press(page, 'What you accept: its manifest, and the hash of each file');
    await careful.getByText('"main.py": ').first().waitFor();
    await tabTo(page, 'Accept', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await toast(page, 'careful accepted');
    await careful.getByText('It can:', { exact: true }).waitFor();
    await press(page, 'Settings');
    await tabTo(page, 'The word that must not be written');
    await page.keyboard.type('swordfish');
    await page.keyboard.press('Enter');
    await toast(page, 'Settings of careful saved');
    await tabTo(page, 'careful is on', 'Shift+Tab');
    await page.keyboard.press('Space');
    await careful.getByText(/· Running/).waitFor();
    expect(await enabled(at, 'careful')).toBe(true);
    expect(await brokenAnywhere(page, 'plugins', () => tooWide(page))).toEqual([]);
    await page.setViewportSize(viewport);
    await tabTo(page, 'careful is on');
    await page.keyboard.press('Space');
    await careful.getByText(/· Accepted/).waitFor();
    expect(await enabled(at, 'careful')).toBe(false);
    await press(page, 'Remove careful');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('No plugins yet.').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('one that fails says why and shows its last words without being asked', async () => {
    const at = await play([]);
    await bring(at, FRAGILE);
    const { hash } = (await (await at.api('/api/admin/plugins/fragile')).json()) as { hash: string };
    await at.api('/api/admin/plugins/fragile/accept', { method: 'POST', body: JSON.stringify({ hash }) });
    await at.api('/api/admin/plugins/fragile/enable', { method: 'POST', body: '{}' });
    const page = await open(at, '/plugins', { viewport });
    const fragile = page.getByRole('region', { name: 'fragile' });
    await fragile.getByText(/Failing; Onyx restarts it|Stopped after failures/).waitFor();
    await fragile
      .getByText(/the program ended/)
      .first()
      .waitFor();
    await fragile.getByText('Its last words:').getByText('no such cupboard').waitFor();
    await press(page, 'Log');
    await fragile.locator('pre').getByText('no such cupboard').waitFor();
    expect(await brokenAnywhere(page, 'failing plugin', () => tooWide(page))).toEqual([]);
    expect(page.wrongs).toEqual([]);
  });
});

test('a plugin is accepted, switched on and off and removed by touch', async () => {
  const at = await play([]);
  await bringCareful(at);
  await setWord(at);
  const page = await open(at, '/plugins', TOUCH);
  const careful = page.getByRole('region', { name: 'careful' });
  await careful.getByText('What you accept: its manifest').tap();
  await careful.getByText('"main.py": ').first().waitFor();
  await careful.getByRole('button', { name: 'Accept' }).tap();
  const onOff = careful.getByRole('switch', { name: 'careful is on' });
  await onOff.tap();
  await careful.getByText(/· Running/).waitFor();
  await onOff.tap();
  await careful.getByText(/· Accepted/).waitFor();
  expect(await enabled(at, 'careful')).toBe(false);
  await careful.getByRole('button', { name: 'Remove careful' }).tap();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).tap();
  await page.getByText('No plugins yet.').waitFor();
  expect(page.wrongs).toEqual([]);
});
