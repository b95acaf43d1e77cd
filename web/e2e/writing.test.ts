// Pages that people write: shown as they will be read, saved automatically, linked, with pictures, tables and earlier
// versions. By keyboard at width 1280, by touch at 390.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { brokenAnywhere } from './axe';
import { clearsAfterEach, open, play, toast, WIDTHS } from './play';
import { PHONE, type Stage, type Visit } from './stage';
import { Sky } from './weather';

clearsAfterEach();

const SPACE = {
  'people/owner/spaces/house/space.json': JSON.stringify({ name: 'House' }),
  'people/owner/spaces/house/pages/floor.md': '---\ntitle: Floor\n---\n\nOak or larch.\n',
  'people/owner/spaces/house/pages/woods.md': '---\ntitle: Kinds of wood\n---\n\nSoft and hard.\n',
  'people/owner/spaces/house/tasks/order.md':
    '---\ntitle: Order samples\nstatus: todo\n---\n\nSee [[Kinds of wood]].\n',
};

const text = (page: Page) => page.getByRole('textbox', { name: 'Text', exact: true });
const state = (page: Page) => page.getByRole('status', { name: 'Save state' });
const saved = async (page: Page) => {
  await expect.poll(() => state(page).innerText()).toBe('Saved');
};
const onDisk = (at: Stage, path: string) =>
  readFile(join(at.home, 'people/owner/spaces/house', path), 'utf8').catch(() => '');
const has = (at: Stage, path: string, words: string) => expect.poll(() => onDisk(at, path)).toContain(words);

/** Moves the cursor to the end of the text, as a person does. */
async function toEnd(page: Page): Promise<void> {
  await text(page).focus();
  await page.keyboard.press('Control+End');
}

const noScroll = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP4z8CAB+GTG8HSALfKY52fTcuYAAAAAElFTkSuQmCC',
  'base64',
);

/** Inserts a picture from another program. */
async function give(page: Page, how: 'paste' | 'drop'): Promise<void> {
  await text(page).evaluate(
    (element, [bytes, type]) => {
      const data = new DataTransfer();
      const raw = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
      data.items.add(new File([raw], 'plan.png', { type: 'image/png' }));
      const { left, top } = element.getBoundingClientRect();
      const at = { clientX: left + 5, clientY: top + 5, bubbles: true, cancelable: true };
      element.dispatchEvent(
        type === 'paste'
          ? new ClipboardEvent('paste', { clipboardData: data, ...at })
          : new DragEvent('drop', { dataTransfer: data, ...at }),
      );
    },
    [PNG.toString('base64'), how] as const,
  );
}

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  const opened = async (files: Record<string, string> = SPACE): Promise<{ at: Stage; page: Visit }> => {
    const at = await play([], { files });
    return { at, page: await open(at, '/spaces/house/pages/floor', { viewport }) };
  };

  test('what is written is shown as it will be read and saves itself, with a list that goes on', async () => {
    const { at, page } = await opened();
    await toEnd(page);
    await page.keyboard.type('\n## Plan\n\n- measure **twice**\ncut once\n\nThen n');
    await expect.poll(() => text(page).locator('.cm-h2').innerText()).toBe('Plan');
    expect(await text(page).locator('.cm-strong').innerText()).toBe('twice');
    // Letters that are shortcuts elsewhere are typed here.
    expect(new URL(page.url()).pathname).toBe('/spaces/house/pages/floor');
    await saved(page);
    await has(at, 'pages/floor.md', '## Plan\n\n- measure **twice**\n- cut once\n\nThen n');
    await page.reload();
    await expect.poll(() => text(page).innerText()).toContain('cut once');
    expect(await noScroll(page)).toBe(true);
    expect(page.wrongs).toEqual([]);
  });

  test('the slash offers blocks; a table is filled with Tab and drawn as one', async () => {
    const { at, page } = await opened();
    await toEnd(page);
    await page.keyboard.type('\n/ta');
    await page.getByRole('option', { name: /Table/ }).waitFor();
    await page.keyboard.press('Enter');
    for (const cell of ['Wood', 'Price', 'Note', 'Oak', '96', 'hard']) {
      await page.keyboard.type(cell);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Control+Home');
    await expect.poll(() => text(page).locator('th').allInnerTexts()).toEqual(['Wood', 'Price', 'Note']);
    expect((await text(page).locator('td').allInnerTexts()).slice(0, 3)).toEqual(['Oak', '96', 'hard']);
    await saved(page);
    expect(await onDisk(at, 'pages/floor.md')).toMatch(
      /\| Wood\s*\| Price\s*\| Note\s*\|\n\| --- \| --- \| --- \|\n\| Oak/,
    );
    expect(page.wrongs).toEqual([]);
  });

  test('pages are linked with completion, followed, and know what links to them', async () => {
    const { at, page } = await opened();
    await toEnd(page);
    await page.keyboard.type('\nSee [[kin');
    await page.getByRole('option', { name: /Kinds of wood/ }).waitFor();
    await page.keyboard.press('Enter');
    await saved(page);
    await has(at, 'pages/floor.md', 'See [[Kinds of wood]]');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Control+Enter');
    await page.waitForURL('**/pages/woods');
    const from = page.getByRole('navigation', { name: 'Linked from' });
    await from.getByRole('link', { name: 'Order samples' }).waitFor();
    await from.getByRole('link', { name: 'Floor' }).press('Enter');
    await page.waitForURL('**/pages/floor');
    // The address changes first, and the other page's editor is still there.
    await expect.poll(() => page.getByLabel('Title', { exact: true }).inputValue()).toBe('Floor');
    // In the reading view the link is a button; a link to a missing page offers to create it.
    await toEnd(page);
    await page.keyboard.type(' and [[Roof]].');
    await saved(page);
    await page.getByRole('radio', { name: 'Read' }).click();
    await page.getByRole('button', { name: 'Roof' }).press('Enter');
    await page.getByRole('region', { name: 'Notices' }).getByRole('button', { name: 'Create it' }).press('Enter');
    await page.waitForURL('**/pages/roof');
    expect(page.wrongs).toEqual([]);
  });

  test('pictures are pasted, dropped and picked, lie among the person’s files and are seen again', async () => {
    const { at, page } = await opened();
    await toEnd(page);
    await page.keyboard.press('Enter');
    await give(page, 'paste');
    await text(page).getByRole('img', { name: 'plan' }).waitFor();
    await give(page, 'drop');
    await expect.poll(() => text(page).getByRole('img', { name: 'plan' }).count()).toBe(2);
    const picking = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Add a picture' }).press('Enter');
    await (await picking).setFiles({ name: 'roof.png', mimeType: 'image/png', buffer: PNG });
    await text(page).getByRole('img', { name: 'roof' }).waitFor();
    await saved(page);
    await has(at, 'pages/floor.md', '](vault/attachments/plan-2.png)');
    expect(await readFile(join(at.home, 'people/owner/vault/attachments/roof.png'))).toEqual(PNG);
    await page.getByRole('radio', { name: 'Read' }).click();
    const shown = page.locator('.prose img').first();
    await expect.poll(() => shown.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(10);
    // Taken file names are found by trying, and browsers log that as an error.
    expect(page.wrongs.filter((wrong) => !wrong.includes('412'))).toEqual([]);
  });

  test('earlier versions are compared and restored; what one hand wrote in one go is one', async () => {
    const { at, page } = await opened();
    for (const words of ['\nFirst.', ' Second.']) {
      await toEnd(page);
      await page.keyboard.type(words);
      await saved(page);
      await has(at, 'pages/floor.md', words.trim());
    }
    await page.getByRole('button', { name: 'More for this page' }).press('Enter');
    await page.getByRole('menuitem', { name: 'Version history' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Version history' });
    await dialog.getByRole('button', { name: 'Restore' }).first().waitFor();
    expect(await dialog.getByRole('button', { name: 'Restore' }).count()).toBe(1);
    await dialog.getByRole('button', { name: 'Compare' }).press('Enter');
    await dialog.getByText('First. Second.').waitFor();
    await dialog.getByRole('button', { name: 'Restore' }).press('Enter');
    await toast(page, 'Restored. The version before it is kept.');
    await expect.poll(() => text(page).innerText()).not.toContain('First.');
    expect(await onDisk(at, 'pages/floor.md')).not.toContain('First.');
    expect(page.wrongs).toEqual([]);
  });

  test('words written without a connection are kept over a reload and saved when it is back; a conflict is told', async () => {
    const at = await play([], { files: SPACE });
    const page = await open(at, '/nowhere', { viewport, colorScheme: 'light' });
    const sky = new Sky(page);
    await sky.watch();
    await page.clock.install();
    await page.goto(`${at.url}/spaces/house/pages/floor`);
    await text(page).waitFor();
    await sky.change('offline');
    await page.getByText('No connection to Onyx').waitFor();
    await toEnd(page);
    await page.keyboard.type(' And ash.');
    await expect.poll(() => state(page).innerText()).toContain('kept in this browser');
    await sky.tryNow();
    await saved(page);
    await has(at, 'pages/floor.md', 'And ash.');
    await sky.change('offline');
    await page.getByText('No connection to Onyx').waitFor();
    await toEnd(page);
    await page.keyboard.type(' Mine.');
    await at.api('/api/spaces/house/pages/floor', { method: 'PATCH', body: JSON.stringify({ body: 'Theirs.\n' }) });
    await sky.tryNow();
    const conflict = page.getByRole('alert', { name: 'Changed elsewhere' });
    await conflict.waitFor();
    expect(await onDisk(at, 'pages/floor.md')).toContain('Theirs.');
    await conflict.getByRole('button', { name: 'Overwrite with mine' }).press('Enter');
    await has(at, 'pages/floor.md', 'Mine.');
  });
});

test('on a phone a thumb puts a to-do into a page and ticks it', async () => {
  const at = await play([], { files: SPACE });
  const page = await open(at, '/spaces/house/pages/floor', { viewport: PHONE, hasTouch: true, isMobile: true });
  await text(page).tap();
  await page.keyboard.press('Control+End');
  await page.getByRole('button', { name: 'Insert' }).tap();
  await page.getByRole('menuitem', { name: /To-do/ }).tap();
  await page.keyboard.type('Call the mill\n\n\nDone.');
  await text(page).getByRole('checkbox', { name: 'open' }).tap();
  await has(at, 'pages/floor.md', '- [x] Call the mill');
  expect(await noScroll(page)).toBe(true);
  expect(page.wrongs).toEqual([]);
});

test('the editor, its menu and the versions break no rule of accessibility', async () => {
  const at = await play([], {
    files: {
      ...SPACE,
      'people/owner/spaces/house/pages/floor.md':
        '---\ntitle: Floor\n---\n\n# Plan\n\n- [ ] measure\n- [x] saw\n\n> quiet\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nSee [[Kinds of wood]] and `code`.\n',
    },
  });
  const page = await open(at, '/spaces/house/pages/floor', { colorScheme: 'light' });
  await text(page).waitFor();
  await text(page).locator('table').waitFor();
  expect(await brokenAnywhere(page, 'page')).toEqual([]);
  await toEnd(page);
  await page.keyboard.type('\n/');
  await page
    .getByRole('option', { name: /Heading/ })
    .first()
    .waitFor();
  expect(await brokenAnywhere(page, 'slash menu')).toEqual([]);
  await page.keyboard.press('Escape');
  await saved(page);
  await page.getByRole('button', { name: 'More for this page' }).click();
  await page.getByRole('menuitem', { name: 'Version history' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Compare' }).first().click();
  expect(await brokenAnywhere(page, 'versions')).toEqual([]);
});
