import { describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { HOSTILE } from '../test/hostile';
import { clearsAfterEach, finished, log, open, play, say, share, TWO_AGENTS, WIDTHS } from './play';

clearsAfterEach();

const pwned = (page: Page) => page.evaluate(() => (window as unknown as { pwned?: number }).pwned);

describe.each(WIDTHS)('at %s px', (_, viewport) => {
  test('what an answer cites opens at the line', async () => {
    const lines = Array.from({ length: 90 }, (_, index) => `Line ${index + 1}`).join('\n');
    const at = await share([{ text: 'The pass closes at noon, see notes/cabin.md:70-72.' }], {
      files: { 'people/owner/vault/notes/cabin.md': lines },
    });
    const page = await open(at, '/chat', { viewport });
    await say(page, 'when');
    await finished(page);
    await page.getByRole('link', { name: 'Source notes/cabin.md:70–72' }).click();
    const text = page.getByLabel('Text of the file');
    await text.waitFor();
    const seen = await text.evaluate((area) => [
      Math.floor(area.scrollTop / 20),
      Math.floor((area.scrollTop + area.clientHeight) / 20),
    ]);
    expect(seen[0]).toBeLessThan(70);
    expect(seen[1]).toBeGreaterThan(70);
    await page.goBack();
    await log(page).getByText('The pass closes at noon').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('several agents answer one message, each under its own name', async () => {
    const at = await share([{ text: 'first' }, { text: 'from one' }, { text: 'from the other' }], {
      agents: TWO_AGENTS,
    });
    const page = await open(at, '/chat', { viewport });
    await say(page, 'hi');
    await finished(page);
    await page.getByRole('button', { name: 'More for this chat' }).click();
    await page.getByRole('menuitem', { name: 'Who answers' }).click();
    await page.getByRole('checkbox', { name: /Optimist/ }).check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await say(page, 'and both of you?');
    await log(page).getByText('from the other').waitFor();
    await finished(page);
    const last = log(page).getByRole('article', { name: 'Optimist' }).last();
    expect(await last.innerText()).toContain('from the other');
    await page.reload();
    await log(page).getByRole('article', { name: 'Optimist' }).getByText('from the other').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('a home without a provider offers to connect one, tests it and uses it', async () => {
    const at = await play([{ text: 'hello from the new model' }], {
      providers: {},
      agents: [{ id: 'main', name: 'Main', default: true, tier: 'act' }],
    });
    const page = await open(at, '/chat', { viewport });
    const card = page.getByRole('region', { name: 'Connect a better model' });
    await card.getByRole('button', { name: 'Use a key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('mine');
    await dialog.getByLabel('Address').fill(at.model);
    await dialog.getByLabel('Key').fill('k');
    await dialog.getByRole('button', { name: 'Save and test' }).click();
    await card.getByRole('button', { name: 'mine/scripted' }).click();
    await card.waitFor({ state: 'detached' });
    await say(page, 'hi');
    await log(page).getByText('hello from the new model').waitFor();
    expect(page.wrongs).toEqual([]);
  });
});

test('hostile tool output, files, file names and agents’ files run nothing and load nothing', async () => {
  const text = HOSTILE.join('\n\n');
  const name = '<img src=x onerror=window.pwned=1>.md';
  const files = {
    'people/owner/vault/evil.md': text,
    [`people/owner/vault/${name}`]: `# ${name}\n`,
    'agents/main/SOUL.md': text,
  };
  const at = await play(
    [
      {
        calls: [
          { id: 'a', name: 'read_file', input: { path: 'evil.md' } },
          { id: 'b', name: 'read_file', input: { path: name } },
        ],
      },
      { text: 'Read.' },
    ],
    { files },
  );
  const page = await open(at);
  await say(page, 'read it');
  await finished(page);
  for (const row of await log(page).locator('.step').all()) await row.click();
  await log(page).getByLabel('Output').first().waitFor();
  for (const path of [
    '/memory',
    '/memory?path=vault%2Fevil.md',
    `/memory?path=${encodeURIComponent(`vault/${name}`)}`,
    '/memory?q=evil',
    '/agents/main/persona',
  ]) {
    await page.goto(at.url + path);
    await page.locator('h1').waitFor();
    const read = page.getByRole('radio', { name: 'Read' });
    if (await read.isVisible().catch(() => false)) await read.click();
    await page.waitForTimeout(700);
    expect(await pwned(page)).toBeUndefined();
  }
  expect(page.wrongs).toEqual([]);
});
