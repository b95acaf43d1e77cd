// Importing another program's export: a preview first, the import after confirmation, then a report with counts.

import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { brokenAnywhere } from './axe';
import { press, tabTo, tooWide, TOUCH } from './hands';
import { clearsAfterEach, open, play, WIDTHS } from './play';
import type { Stage, Visit } from './stage';

clearsAfterEach();

const fixture = (path: string) => fileURLToPath(new URL(`../../crates/import/tests/fixtures/${path}`, import.meta.url));

/** A ChatGPT export with this many conversations. */
function manyChats(count: number): { name: string; mimeType: string; buffer: Buffer } {
  const chat = (number: number) => ({
    id: `many-${number}`,
    title: `Chat ${number}`,
    create_time: 1_700_000_000 + number,
    update_time: 1_700_000_000 + number,
    current_node: 'b',
    mapping: {
      a: node('a', null, ['b'], 'user', `What is ${number}?`),
      b: node('b', 'a', [], 'assistant', `${number} is a number.`),
    },
  });
  const buffer = Buffer.from(JSON.stringify(Array.from({ length: count }, (_, number) => chat(number))));
  return { name: 'many.json', mimeType: 'application/json', buffer };
}

const node = (id: string, parent: string | null, children: string[], role: string, text: string) => ({
  id,
  parent,
  children,
  message: {
    id,
    author: { role },
    create_time: 1_700_000_000,
    content: { content_type: 'text', parts: [text] },
    metadata: {},
  },
});

/** Collects all progress lines that the page shows. */
async function listen(page: Visit): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const heard: string[] = [];
    Object.assign(window, { heard });
    const look = () => {
      const said = document.querySelector('main [role=status]')?.textContent;
      if (said && heard.at(-1) !== said) heard.push(said);
    };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  return () => page.evaluate(() => (window as unknown as { heard: string[] }).heard);
}

const titles = async (at: Stage) => {
  const { sessions } = (await (await at.api('/v1/sessions')).json()) as { sessions: { title: string }[] };
  return sessions.map((session) => session.title).sort();
};

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('an export is chosen and imported by keys alone, and the page counts as it goes on', async () => {
    const at = await play([]);
    const page = await open(at, '/settings/import', { viewport });
    await page.getByText('Drop the export here').waitFor();
    const heard = await listen(page);
    const chooser = page.waitForEvent('filechooser');
    await tabTo(page, 'ChatGPT');
    await page.keyboard.press('ArrowLeft');
    await page.getByText('A ZIP file of the folder .nanobot.').waitFor();
    await page.keyboard.press('ArrowRight');
    await tabTo(page, 'Export file');
    await page.keyboard.press('Enter');
    await (await chooser).setFiles(manyChats(300));
    const report = page.getByRole('region', { name: 'Report' });
    await report.getByText('300 new').waitFor();
    await press(page, 'Import');
    await report.getByText('Imported.').waitFor();
    const counts = (await heard()).map((line) => /^Importing many\.json \((\d+) of 300\)…$/.exec(line)?.[1]);
    const between = counts.filter((count) => count !== undefined && Number(count) > 0 && Number(count) < 300);
    expect(between.length).toBeGreaterThan(0);
    expect(await brokenAnywhere(page, 'imported', () => tooWide(page))).toEqual([]);
    expect(page.wrongs).toEqual([]);
  });

  test('an export is looked at, then imported, and comes once', async () => {
    const at = await play([]);
    const page = await open(at, '/settings/import', { viewport });
    const choose = () => page.locator('input[type=file]').setInputFiles(fixture('chatgpt/conversations.json'));
    await choose();
    const report = page.getByRole('region', { name: 'Report' });
    await report.getByText('This will be imported:').waitFor();
    await report.getByText('2 new').waitFor();
    const list = async () => (await (await at.api('/v1/sessions')).json()) as { sessions: { title: string }[] };
    expect((await list()).sessions).toEqual([]);
    await report.getByText('Left out (3)').click();
    await report.getByText('1 thoughts of models in Boiling eggs').waitFor();
    await report.getByRole('button', { name: 'Import' }).click();
    await report.getByText('Imported.').waitFor();
    expect((await list()).sessions.map((session) => session.title).sort()).toEqual(['Boiling eggs', 'Old plans']);
    await choose();
    await report.getByText('Everything is already here.').waitFor();
    expect(await report.getByRole('button', { name: 'Import' }).count()).toBe(0);
    expect(page.wrongs).toEqual([]);
  });

  test('a file of another program is refused with what is wrong', async () => {
    const at = await play([]);
    const page = await open(at, '/settings/import', { viewport });
    await page.getByRole('radio', { name: 'Claude' }).click();
    await page.locator('input[type=file]').setInputFiles(fixture('chatgpt/conversations.json'));
    await page.getByRole('alert').getByText('export, line 1: conversation 1: it has no `uuid`').waitFor();
    expect(page.wrongs.filter((wrong) => !wrong.includes('400'))).toEqual([]);
  });
});

test('an export is chosen and imported by touch', async () => {
  const at = await play([]);
  const page = await open(at, '/settings/import', TOUCH);
  await page.getByRole('radio', { name: 'nanobot' }).tap();
  await page.getByText('A ZIP file of the folder .nanobot.').waitFor();
  await page.getByRole('radio', { name: 'ChatGPT' }).tap();
  const chooser = page.waitForEvent('filechooser');
  await page.getByText('Drop the export here').tap();
  await (await chooser).setFiles(fixture('chatgpt/conversations.json'));
  const report = page.getByRole('region', { name: 'Report' });
  await report.getByRole('button', { name: 'Import' }).tap();
  await report.getByText('Imported.').waitFor();
  expect(await titles(at)).toEqual(['Boiling eggs', 'Old plans']);
  expect(await tooWide(page)).toEqual([]);
  expect(page.wrongs).toEqual([]);
});
