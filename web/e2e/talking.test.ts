import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  clearsAfterEach,
  composer,
  finished,
  log,
  open,
  say,
  sessionOf,
  share,
  toast,
  told,
  TWO_AGENTS,
  WIDTHS,
  words,
} from './play';

clearsAfterEach();

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.each(WIDTHS)('at %s px', (width, viewport) => {
  test('texts and pictures go along: the texts into the vault, under names that replace nothing', async () => {
    const at = await share([{ text: 'Seen.' }], {
      files: { [`people/owner/vault/attachments/plan${width}.csv`]: 'theirs\n' },
    });
    const page = await open(at, '/chat', { viewport });
    await page.locator('input[type=file]').setInputFiles([
      { name: `plan${width}.csv`, mimeType: 'text/csv', buffer: Buffer.from('day,place\nSaturday,cabin\n') },
      { name: 'odd.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 255, 1, 2]) },
    ]);
    await toast(page, /odd\.bin was not attached/);
    await composer(page).evaluate((area, data) => {
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], 'pasted.png', { type: 'image/png' }));
      area.dispatchEvent(new ClipboardEvent('paste', { clipboardData: transfer, bubbles: true, cancelable: true }));
    }, PIXEL);
    const attached = page.getByRole('list', { name: 'Attachments' });
    await attached.getByAltText('pasted.png').waitFor();
    await attached.getByText(`plan${width}.csv`).waitFor();
    await page
      .locator('form')
      .filter({ has: composer(page) })
      .evaluate((form) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File(['dropped'], 'dropped.txt', { type: 'text/plain' }));
        form.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
      });
    await attached.getByText('dropped.txt').waitFor();
    await attached.getByRole('button', { name: 'Remove dropped.txt' }).click();
    await attached.getByText('dropped.txt').waitFor({ state: 'detached' });
    await say(page, 'look at these');
    await finished(page);
    await log(page).getByAltText('Attachment 1').waitFor();
    const [said] = (await words(at, sessionOf(page))) as { type: string; text?: string }[][];
    expect(said?.map((part) => part.text ?? part.type)).toEqual(['look at these', 'image', 'file']);
    expect(await readFile(join(at.home, `people/owner/vault/attachments/plan${width}-2.csv`), 'utf8')).toBe(
      'day,place\nSaturday,cabin\n',
    );
    expect(await attached.count()).toBe(0);
    // An attachment is shown as a chip that opens the file.
    await log(page)
      .getByRole('link', { name: `plan${width}.csv` })
      .press('Enter');
    await page.waitForURL(new RegExp(`path=vault%2Fattachments%2Fplan${width}-2.csv`));
    expect(page.wrongs.filter((wrong) => !wrong.includes('412'))).toEqual([]);
  });

  test('words that shall wait are answered after the answer under way', async () => {
    const at = await share([
      { text: Array.from({ length: 30 }, (_, index) => `word${index} `), delayMs: 60 },
      { text: 'And now this.' },
    ]);
    const page = await open(at, '/settings/general', { viewport });
    await page.getByRole('radio', { name: 'Queue' }).click();
    await page.goto(`${at.url}/chat`);
    await say(page, 'go');
    await log(page).getByText('word3').waitFor();
    await say(page, 'afterwards');
    await log(page).getByText('And now this.').waitFor();
    await finished(page);
    // A queued message moves to its place in the log as soon as its run starts; until then it is below the answer in
    // progress.
    const inOrder = async () => /word29.*afterwards.*And now this\./s.test(await log(page).innerText());
    await expect.poll(inOrder).toBe(true);
    expect(page.wrongs).toEqual([]);
  });

  test('/stop stops, and is not said', async () => {
    const at = await share([{ text: 'This goes on', hang: true }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'go');
    await log(page).getByText('This goes on').waitFor();
    await say(page, '/stop');
    await log(page).getByText('Stopped').waitFor();
    expect(await words(at, sessionOf(page))).toEqual(['go']);
  });

  test('a chat is forked, and the first way stays as it was', async () => {
    const at = await share([{ text: 'first' }, { text: 'on another way' }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'question');
    await finished(page);
    const original = sessionOf(page);
    const before = await composer(page).elementHandle();
    await page.getByRole('button', { name: 'More for this reply' }).click();
    await page.getByRole('menuitem', { name: 'Fork from here' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(original));
    // The address changes first, and the other chat is still there.
    await before?.waitForElementState('hidden');
    await log(page).getByText('first').waitFor();
    await say(page, 'elsewhere');
    await log(page).getByText('on another way').waitFor();
    await finished(page);
    expect(await words(at, original)).toEqual(['question']);
    expect(await words(at, sessionOf(page))).toEqual(['question', 'elsewhere']);
    expect(page.wrongs).toEqual([]);
  });

  test('who answers and with which model is chosen where one writes', async () => {
    const at = await share([{ text: 'All will be well.' }], { agents: TWO_AGENTS });
    const page = await open(at, '/chat', { viewport });
    await page.getByRole('button', { name: /^Agent:/ }).click();
    await page.getByRole('menuitemradio', { name: /Optimist/ }).click();
    await page.getByRole('button', { name: 'Model' }).click();
    await page.getByRole('menuitemradio', { name: /some-model/ }).click();
    await say(page, 'hi');
    await finished(page);
    const answer = log(page).getByRole('article', { name: 'Optimist' });
    expect((await answer.innerText()).replace(/\s+/g, ' ')).toContain('OPTIMIST some-model All will be well.');
    expect(page.wrongs).toEqual([]);
  });

  test('an answer is copied, a chat exported as Markdown and as JSON lines', async () => {
    const at = await share([{ text: 'Take **chains**.\n\n```sh\necho hi\n```\n' }]);
    const page = await open(at, '/chat', { viewport });
    await say(page, 'the pass?');
    await finished(page);
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await page.getByRole('button', { name: 'Copy reply' }).click();
    await expect.poll(copied).toBe('Take **chains**.\n\n```sh\necho hi\n```\n');
    await page.getByRole('button', { name: 'Copy code' }).click();
    await expect.poll(copied).toBe('echo hi');
    const exported = async (entry: string) => {
      await page.getByRole('button', { name: 'More for this chat' }).click();
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: entry }).click(),
      ]);
      return readFile(await file.path(), 'utf8');
    };
    expect(await exported('Export as Markdown')).toMatch(/the pass\?[\s\S]*Take \*\*chains\*\*\./);
    const lines = (await exported('Export as JSON lines'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect(lines.map((line) => line.type)).toEqual(expect.arrayContaining(['user', 'assistant_text', 'run_end']));
    expect(page.wrongs).toEqual([]);
  });

  test('tables, formulas, diagrams and code are drawn; an edit opens to its difference', async () => {
    const rich =
      '| a | b |\n|---|---:|\n| 1 | 2 |\n\n$$x^2$$\n\n```mermaid\ngraph TD; A-->B;\n```\n\n```rust\nfn main() {}\n```\n';
    const edit = {
      calls: [{ id: 'a', name: 'edit_file', input: { path: 'plan.md', old: 'after lunch', new: 'at nine' } }],
    };
    const at = await share([edit, { text: rich }], { files: { 'people/owner/vault/plan.md': 'Drive after lunch\n' } });
    const page = await open(at, '/chat', { viewport });
    await say(page, 'draw');
    await finished(page);
    await log(page).getByRole('cell', { name: '2' }).waitFor();
    await log(page).locator('math').first().waitFor();
    const picture = log(page).getByAltText(/^Diagram/);
    await picture.waitFor();
    // A picture that is not loaded yet has a place already, and no width of its own.
    await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(20);
    await log(page).locator('.code code span').first().waitFor();
    await page.getByRole('button', { name: /Edited plan\.md/ }).click();
    await log(page).getByText('-after lunch').waitFor();
    await log(page).getByText('+at nine').waitFor();
    expect(page.wrongs).toEqual([]);
  });

  test('chats are searched, filtered, archived, brought back, renamed and deleted', async () => {
    const at = await share([], { agents: TWO_AGENTS });
    const [CABIN, FLOOR] = [`The cabin in winter ${width}`, `Floor samples ${width}`];
    const cabin = await told(at, CABIN);
    await told(at, FLOOR, 'optimist');
    const page = await open(at, '/sessions', { viewport });
    const row = (name: string) => page.locator('main li').filter({ hasText: name });
    await row(FLOOR).waitFor();
    await page.getByLabel('Search chats').fill('winter');
    await row(FLOOR).waitFor({ state: 'detached' });
    await row(CABIN).waitFor();
    await page.getByLabel('Search chats').fill('');
    await page.getByLabel('Agent', { exact: true }).selectOption('optimist');
    await row(CABIN).waitFor({ state: 'detached' });
    await page.getByLabel('Agent', { exact: true }).selectOption('');
    await row(CABIN).waitFor();
    const act = async (entry: string) => {
      await page
        .getByRole('button', { name: `More for ${CABIN}` })
        .last()
        .click();
      await page.getByRole('menuitem', { name: entry, exact: true }).click();
    };
    await act('Archive');
    await row(CABIN).waitFor({ state: 'detached' });
    await page.getByLabel('Status').selectOption('archived');
    await act('Unarchive');
    await row(CABIN).waitFor({ state: 'detached' });
    await page.goto(`${at.url}/chat/${cabin}`);
    const choose = async (entry: string) => {
      await page.getByRole('button', { name: 'More for this chat' }).click();
      await page.getByRole('menuitem', { name: entry }).click();
    };
    await choose('Rename');
    await page.getByRole('textbox', { name: 'Name of this chat' }).fill('Winter');
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('heading', { name: 'Winter', level: 1 }).waitFor();
    await choose('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(/\/chat$/);
    expect((await at.api(`/v1/sessions/${cabin}`)).status).toBe(404);
    expect(page.wrongs).toEqual([]);
  });
});

test('how full the window is and what the chat has cost stands beside the words', async () => {
  const at = await share([{ text: 'Cheap.' }], { price: { input: 3, output: 15 }, contextWindow: 15_000 });
  const page = await open(at);
  await say(page, 'hi');
  await finished(page);
  const gauge = page.getByRole('img', { name: '1.5k tokens of context used' });
  await gauge.waitFor();
  expect(await gauge.locator('..').innerText()).toBe('$0.0081');
  // The size of the window comes with the list of models.
  await expect.poll(() => gauge.locator('span').evaluate((bar) => (bar as HTMLElement).style.width)).toBe('10%');
  await page.setViewportSize({ width: 390, height: 844 });
  await gauge.locator('..').getByText('$0.0081').waitFor();
});
