// After a shortcut, keys are typed wherever the focus is: a test that fills a field by its name would not notice that
// the focus is elsewhere.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { clearsAfterEach, finished, open, play, say, told, WIDTHS } from './play';
import type { Answer } from './stage';

clearsAfterEach();

const CAREFUL = [{ id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'suggest' }];
const write = (name: string): Answer[] => [
  { calls: [{ id: name, name: 'write_file', input: { path: `${name}.md`, content: 'new\n' } }] },
  { text: 'Proposed.' },
];
const waiting = (page: Page) => page.locator('[data-draft][data-open]');
const focused = (page: Page) => page.evaluate(() => document.activeElement?.tagName);

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('the palette takes what is typed as soon as it is open, and Enter goes there', async () => {
    const at = await play([]);
    const page = await open(at, '/chat', { viewport });
    await page.locator('#composer').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('memo');
    expect(await page.getByRole('combobox').inputValue()).toBe('memo');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/memory$/);
    expect(page.wrongs).toEqual([]);
  });

  test('a dialog with a field takes what is typed', async () => {
    const at = await play([]);
    const page = await open(at, '/channels', { viewport });
    // This also works while other parts of the dialog are still loading.
    let release = () => {};
    const held = new Promise<void>((resolve) => void (release = resolve));
    await page.route('**/api/spaces', async (route) => (await held, await route.continue()));
    await page.getByRole('button', { name: 'New channel' }).first().click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('launch');
    const name = page.getByRole('dialog').getByLabel('Name');
    expect(await name.inputValue()).toBe('launch');
    release();
    await page.getByRole('dialog').getByLabel('Space').waitFor();
    expect(await name.inputValue()).toBe('launch');
  });

  test('the only draft that waits is decided by A and R from anywhere, and the focus stays on the page', async () => {
    const at = await play([...write('a'), ...write('b')], { agents: CAREFUL });
    await told(at, 'one');
    const page = await open(at, '/inbox', { viewport });
    await waiting(page).waitFor();
    await page.keyboard.press('a');
    await expect.poll(() => waiting(page).count()).toBe(0);
    expect(await readFile(join(at.home, 'people/owner/vault/a.md'), 'utf8')).toBe('new\n');
    await told(at, 'two');
    await waiting(page).waitFor();
    await page.keyboard.press('r');
    // The R opens the field and is not typed into it.
    await page.keyboard.type('no');
    expect(await page.getByLabel('Reason').inputValue()).toBe('no');
    await page.keyboard.press('Enter');
    await page.getByText('“no”').waitFor();
    expect(await focused(page)).not.toBe('BODY');
    expect(page.wrongs).toEqual([]);
  });

  test('in a chat the lone draft is decided by its key where nobody writes, and letters in the composer stay letters', async () => {
    const at = await play(write('c'), { agents: CAREFUL });
    const page = await open(at, '/chat', { viewport });
    await say(page, 'propose');
    await finished(page);
    await waiting(page).waitFor();
    await page.locator('#composer').focus();
    await page.keyboard.type('a');
    expect(await page.locator('#composer').inputValue()).toBe('a');
    expect(await waiting(page).count()).toBe(1);
    await page.keyboard.press('Backspace');
    await page.locator('#composer').blur();
    await page.keyboard.press('a');
    await expect.poll(() => waiting(page).count()).toBe(0);
    expect(page.wrongs).toEqual([]);
  });
});
