// `make bench-ui`: measures what the last table of ui.md requires, in Chromium with the real server.
import { writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { CDPSession, Page } from 'playwright-core';
import { HOSTILE } from '../test/hostile';
import { longSession } from './long';
import { closeBrowser, stage, visit, type Visit } from './stage';

interface Row {
  name: string;
  value: number;
  unit: string;
  target: number;
}

const rows: Row[] = [];
const note = (name: string, value: number, unit: string, target: number) => {
  rows.push({ name, value: Math.round(value * 100) / 100, unit, target });
  console.error(`  ${name}: ${value.toFixed(2)} ${unit}`);
};
const KIB = 1024;
const words = Array.from({ length: 2_000 }, (_, index) => (index % 60 === 59 ? `word${index}.\n\n` : `word${index} `));

/** The compressed bytes of scripts and styles that were transferred. */
const transferred = (page: Page) =>
  page.evaluate(() => {
    const pages = performance.getEntriesByType('navigation') as PerformanceResourceTiming[];
    const files = (performance.getEntriesByType('resource') as PerformanceResourceTiming[]).filter((entry) =>
      /\.(js|css|html)$/.test(new URL(entry.name).pathname),
    );
    return [...pages, ...files].reduce((sum, entry) => sum + entry.encodedBodySize, 0);
  });

const goInside = (page: Page, path: string) =>
  page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);

async function weights(): Promise<void> {
  const at = await stage([]);
  const page = await visit(at);
  await page.locator('#composer').waitFor();
  await page.waitForTimeout(500);
  note('initial transfer', (await transferred(page)) / KIB, 'KiB', 190);
  let largest = 0;
  for (const path of [
    '/sessions',
    '/inbox',
    '/memory',
    '/agents',
    '/agents/main/persona',
    '/settings',
    '/settings/providers',
    '/system',
    '/system/logs',
    '/system/usage',
    '/system/audit',
  ]) {
    const fresh = await visit(at);
    await fresh.locator('#composer').waitFor();
    const before = await transferred(fresh);
    await goInside(fresh, path);
    await fresh.waitForTimeout(700);
    largest = Math.max(largest, (await transferred(fresh)) - before);
    await fresh.context().close();
  }
  note('largest route', largest / KIB, 'KiB', 60);
  await page.context().close();
  await at.end();
}

const metrics = async (session: CDPSession) =>
  Object.fromEntries(
    (await session.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value]),
  ) as Record<string, number>;

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** The time from the click until the last turn is at the end of the screen. */
const opening = (page: Page, session: string) =>
  page.evaluate(async (id) => {
    const start = performance.now();
    history.pushState(null, '', `/chat/${id}`);
    dispatchEvent(new PopStateEvent('popstate'));
    const isThere = () => {
      const log = document.querySelector('[role=log]');
      const last = [...(log?.querySelectorAll('article .prose') ?? [])].at(-1);
      if (!log || !last || log.scrollHeight - log.scrollTop - log.clientHeight > 48) return false;
      const { top, bottom } = last.getBoundingClientRect();
      return bottom > top && bottom <= log.getBoundingClientRect().bottom;
    };
    while (!isThere()) await new Promise(requestAnimationFrame);
    return performance.now() - start;
  }, session);

async function longChat(): Promise<void> {
  // The context window is so large that nothing is summarised.
  const at = await stage([{ text: 'An answer of **one** line with `code`.' }, { text: words, delayMs: 5 }], {
    contextWindow: 2_000_000,
  });
  const id = await longSession(at, 1_000);
  const opened: number[] = [];
  let page: Visit | undefined;
  for (let round = 0; round < 5; round += 1) {
    await page?.context().close();
    page = await visit(at);
    await page.locator('#composer').waitFor();
    await page.waitForTimeout(1_500);
    opened.push(await opening(page, id));
  }
  if (!page) return;
  note('open 2,000 messages, median of 5', median(opened), 'ms', 300);
  await page.waitForTimeout(500);
  note('nodes with 2,000 messages', await page.evaluate(() => document.querySelectorAll('*').length), 'nodes', 1_500);
  await streaming(page);
  await page.context().close();
  await at.end();
}

/**
 * The processor time of the page's thread for each frame, early and late in a long answer. A busy machine hardly
 * changes processor time.
 */
async function streaming(page: Visit): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  await page.evaluate(() => {
    const counts = { frames: 0 };
    (window as unknown as { counts: typeof counts }).counts = counts;
    const tick = () => ((counts.frames += 1), requestAnimationFrame(tick));
    requestAnimationFrame(tick);
  });
  const frames = () => page.evaluate(() => (window as unknown as { counts: { frames: number } }).counts.frames);
  const seen = (word: number) =>
    page.locator('[role=log]').getByText(`word${word}`).last().waitFor({ timeout: 120_000 });
  const between = async (first: number, last: number) => {
    await seen(first);
    const [before, start] = [await metrics(session), await frames()];
    await seen(last);
    const [after, end] = [await metrics(session), await frames()];
    return (((after['ThreadTime'] ?? 0) - (before['ThreadTime'] ?? 0)) * 1000) / Math.max(1, end - start);
  };
  await page.fill('#composer', 'stream');
  await page.keyboard.press('Enter');
  const early = await between(60, 480);
  const late = await between(1_500, 1_980);
  note('main thread a frame, early in a stream', early, 'ms', 5);
  note('main thread a frame, at 16k characters', late, 'ms', 5);
  await page.getByRole('button', { name: 'Regenerate' }).last().waitFor();
}

/** Cuts the connection again and again in the middle of an answer. */
async function cuts(): Promise<void> {
  const at = await stage([{ text: words.slice(0, 800), delayMs: 20 }]);
  const page = await visit(at, '/sign', {});
  await page.addInitScript(() => {
    const sockets: WebSocket[] = [];
    const Real = WebSocket;
    (window as unknown as { sockets: WebSocket[] }).sockets = sockets;
    window.WebSocket = class extends Real {
      constructor(url: string) {
        super(url);
        sockets.push(this);
      }
    } as typeof WebSocket;
  });
  await page.goto(`${at.url}/chat`);
  await page.fill('#composer', 'count');
  await page.keyboard.press('Enter');
  await page.locator('.prose').waitFor();
  const resumed: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    resumed.push(
      await page.evaluate(async () => {
        const { sockets } = window as unknown as { sockets: WebSocket[] };
        const count = sockets.length;
        const text = () => document.querySelector('.prose')?.textContent?.length ?? 0;
        const before = text();
        const start = performance.now();
        sockets.at(-1)?.close();
        while (sockets.length === count || text() === before) await new Promise((resolve) => setTimeout(resolve, 5));
        return performance.now() - start;
      }),
    );
  }
  await page.getByRole('button', { name: 'Regenerate' }).waitFor({ timeout: 60_000 });
  const shown = (await page.locator('.prose').innerText()).replace(/\s+/g, ' ').trim();
  const said = words.slice(0, 800).join('').replace(/\s+/g, ' ').trim();
  note('resumed after a cut, worst of 20', Math.max(...resumed), 'ms', 1_000);
  note(
    'characters lost or doubled over 20 cuts',
    shown === said ? 0 : Math.max(1, Math.abs(shown.length - said.length)),
    '',
    0,
  );
  await page.context().close();
  await at.end();
}

/** How soon the card of a draft is updated in another tab. */
async function follows(): Promise<void> {
  const write = (path: string) => ({ calls: [{ id: path, name: 'write_file', input: { path, content: 'new\n' } }] });
  const at = await stage([write('a.md'), { text: 'Proposed.' }, write('b.md'), { text: 'Proposed.' }], {
    agents: [{ id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'suggest' }],
  });
  const chat = await visit(at);
  const inbox = (await chat.context().newPage()) as Visit;
  await inbox.goto(`${at.url}/inbox`);
  const settle = async (acting: Page, following: Page) => {
    const card = following.locator('[data-draft]').last();
    await card.waitFor();
    await acting.locator('[data-draft]').last().getByRole('button', { name: 'Approve' }).waitFor();
    const seen = card.evaluate(
      (element) =>
        new Promise<number>((resolve) => {
          const look = () => element.textContent?.includes('Approved') && resolve(Date.now());
          new MutationObserver(look).observe(element, { subtree: true, childList: true, characterData: true });
          look();
        }),
    );
    const clicked = await acting.evaluate(() => {
      const buttons = [...document.querySelectorAll<HTMLElement>('[data-draft] button')].filter(
        (button) => button.textContent === 'Approve',
      );
      const now = Date.now();
      buttons.at(-1)?.click();
      return now;
    });
    return (await seen) - clicked;
  };
  const ask = async () => {
    await chat.fill('#composer', 'write');
    await chat.keyboard.press('Enter');
    await chat.getByRole('button', { name: 'Regenerate' }).last().waitFor();
  };
  await ask();
  note('approve in Inbox, chat follows', await settle(inbox, chat), 'ms', 200);
  await ask();
  note('approve in chat, Inbox follows', await settle(chat, inbox), 'ms', 200);
  await chat.context().close();
  await at.end();
}

async function hostile(): Promise<void> {
  const at = await stage([{ text: HOSTILE.map((text) => `${text}\n\n`) }]);
  const page = await visit(at);
  await page.fill('#composer', 'show');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Regenerate' }).waitFor();
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    await page.locator('[role=log]').evaluate((log, at) => (log.scrollTop = log.scrollHeight * at), share);
    await page.waitForTimeout(400);
  }
  note(
    'requests to other hosts by hostile text',
    page.wrongs.filter((wrong) => wrong.startsWith('request to')).length,
    '',
    0,
  );
  await page.context().close();
  await at.end();
}

const [before = 0] = loadavg();
for (const measure of [weights, longChat, cuts, follows, hostile]) {
  console.error(measure.name);
  await measure();
}
await closeBrowser();
console.log(`${cpus().length} cores, load ${before.toFixed(1)} before and ${(loadavg()[0] ?? 0).toFixed(1)} after\n`);
const held = (row: Row) => row.value <= row.target;
console.log('| measure | value | target | |\n|---|---:|---:|---|');
for (const row of rows)
  console.log(
    `| ${row.name} | ${row.value} ${row.unit} | ≤ ${row.target} ${row.unit} | ${held(row) ? 'holds' : 'MISSED'} |`,
  );
const target = fileURLToPath(new URL('../../docs/bench/ui.json', import.meta.url));
await writeFile(
  target,
  `${JSON.stringify({ measured_at: new Date().toISOString(), cores: cpus().length, load: { before: before.toFixed(1), after: (loadavg()[0] ?? 0).toFixed(1) }, rows: rows.map((row) => ({ ...row, holds: held(row) })) }, null, 2)}\n`,
);
process.exitCode = rows.every(held) ? 0 : 1;
