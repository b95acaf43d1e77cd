// Moving in with the export of another program: looked at first, brought when the owner says so, told with counts.

import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { clearsAfterEach, open, play, WIDTHS } from './play';

clearsAfterEach();

const fixture = (path: string) => fileURLToPath(new URL(`../../crates/import/tests/fixtures/${path}`, import.meta.url));

describe.each(WIDTHS)('at %s px', (_, viewport) => {
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
    await report.getByText('Everything is here already.').waitFor();
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
