// Which host names a browser looks up when an answer is shown, hovered over and half clicked. Chromium's network log is
// the witness: it records every lookup, also of names that do not exist.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { clearsAfterEach, finished, log, open, play, say } from './play';
import { TOKEN, type Stage } from './stage';

clearsAfterEach();

/** Runs `act` in a separate browser and returns the host names that it looked up. */
async function lookedUp(at: Stage, act: (page: Page) => Promise<void>): Promise<Set<string>> {
  const folder = await mkdtemp(join(tmpdir(), 'onyx-netlog-'));
  const file = join(folder, 'net.json');
  // The browser needs a persistent profile: without one, Chromium does not look up names ahead of time.
  const context = await chromium.launchPersistentContext(join(folder, 'profile'), {
    executablePath: process.env['ONYX_CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', `--log-net-log=${file}`],
    ignoreDefaultArgs: ['--disable-background-networking', '--disable-features', '--disable-field-trial-config'],
    serviceWorkers: 'block',
    reducedMotion: 'reduce',
  });
  await context.addInitScript((token) => localStorage.setItem('onyx.token', JSON.stringify(token)), TOKEN);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${at.url}/chat`);
  await act(page);
  await context.close();
  const text = await readFile(file, 'utf8');
  await rm(folder, { recursive: true, force: true });
  return new Set([...text.matchAll(/"(?:host|hostname)":"(?:\w+:\/\/)?([\w.-]+)/g)].map(([, name]) => name ?? ''));
}

const ANSWER = [
  'Read [this](http://one.evil.example/?secret), http://two.evil.example/a and ![x](http://three.evil.example/i.png).',
  'The person named [that](http://given.example/b).',
].join('\n\n');

/** Does everything with a link except following it. */
async function tease(page: Page, name: RegExp): Promise<void> {
  const link = log(page).locator('.prose').getByRole('link', { name }).first();
  await link.hover();
  await page.waitForTimeout(700);
  await page.mouse.down();
  await page.waitForTimeout(700);
  await page.mouse.move(2, 2);
  await page.mouse.up();
}

test('hovering over a link and pressing it halfway look no host up that nobody gave', async () => {
  const at = await play([{ text: ANSWER }]);
  const names = await lookedUp(at, async (page) => {
    await say(page, 'What of http://given.example/ ?');
    await finished(page);
    for (const name of [/this/, /two/, /Image/]) await tease(page, name);
    // A control: the witness records lookups at all.
    await (await page.context().newPage()).goto('http://control.example/').catch(() => undefined);
  });
  expect([...names].filter((name) => name.endsWith('.example'))).toEqual(['control.example']);
});

test('a link is followed when it is pressed, whoever gave its host, and by the keyboard too', async () => {
  const at = await play([{ text: ANSWER }]);
  const names = await lookedUp(at, async (page) => {
    await say(page, 'What of http://given.example/ ?');
    await finished(page);
    const link = (name: RegExp) => log(page).locator('.prose').getByRole('link', { name }).first();
    for (const [name, press] of [
      [/that/, () => link(/that/).click()],
      [/this/, () => link(/this/).click()],
      [/two/, () => link(/two/).press('Enter')],
    ] as const) {
      const opened = page.context().waitForEvent('page');
      await press();
      expect((await opened).url(), String(name)).toBeDefined();
    }
  });
  for (const host of ['given.example', 'one.evil.example', 'two.evil.example']) expect(names).toContain(host);
});

test('no page of the app and no answer of the server lets a browser look names up ahead', async () => {
  const at = await play([]);
  for (const path of ['/chat', '/health', '/api/agent/session/history?session_id=x']) {
    const answer = await at.api(path, { headers: { accept: 'text/html' } });
    expect(answer.headers.get('x-dns-prefetch-control'), path).toBe('off');
  }
  const page = await (await at.api('/chat', { headers: { accept: 'text/html' } })).text();
  expect(page).toContain('<meta http-equiv="x-dns-prefetch-control" content="off"');
});

test('hidden characters in answers, tool calls, titles and approvals are shown written out', async () => {
  const hostile = 'a\u202eb\u200bc';
  const at = await play(
    [
      { calls: [{ id: 'a', name: 'read_file', input: { path: hostile } }] },
      {
        text: `I read ${hostile} and \`${hostile}\``,
        calls: [{ id: 'b', name: 'delete_file', input: { path: 'x.md' } }],
      },
      { text: 'Done.' },
    ],
    { files: { 'people/owner/vault/x.md': `${hostile}\n` } },
  );
  const page = await open(at);
  await say(page, `title ${hostile}`);
  await page
    .getByRole('button', { name: /Approve/ })
    .first()
    .waitFor();
  const shown = await page.evaluate(() => document.title + document.body.innerText);
  expect(shown).not.toMatch(/[\u202e\u200b]/);
  // The text is in the person's message, twice in the answer, and in the deleted lines.
  expect(shown.split('a\\u{202e}b\\u{200b}c').length).toBeGreaterThan(4);
});
