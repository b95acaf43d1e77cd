// What the app's targets ask, measured: `npx vite-node e2e/measure.ts`. Not part of the tests: figures depend on the machine.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { closeBrowser, stage, visit } from './stage';

const EXCHANGES = 1000;
const words = Array.from({ length: 1200 }, (_, index) => (index % 60 === 59 ? `word${index}.\n\n` : `word${index} `));
const at = await stage([{ text: 'An answer of **one** line with `code`.' }, { text: words, delayMs: 5 }]);
const answer = (await (await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message: 'question' }) })).json()) as { session_id: string };
const folder = join(at.home, 'people/owner/sessions/main');
const file = join(folder, (await readdir(folder)).find((name) => name.endsWith('.jsonl')) ?? '');
const lines = (await readFile(file, 'utf8')).trim().split('\n');
let counter = 0;
const grown = Array.from({ length: EXCHANGES }, () => {
  const fresh = new Map<string, string>();
  const id = (old: string) => fresh.set(old, fresh.get(old) ?? `019a0000-${(counter >> 16).toString(16).padStart(4, '0')}-7000-8000-${(counter += 1).toString(16).padStart(12, '0')}`).get(old) ?? old;
  return lines.map((line) => line.replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, id)).join('\n');
});
await at.kill();
await writeFile(file, `${grown.join('\n')}\n`);
await at.start();
await at.api('/api/admin/reindex', { method: 'POST', body: '{}' });

const page = await visit(at, '/chat');
await page.locator('#composer').waitFor();
await page.waitForTimeout(1000);
const opened = await page.evaluate(async (id) => {
  const start = performance.now();
  history.pushState(null, '', `/chat/${id}`);
  dispatchEvent(new PopStateEvent('popstate'));
  const seen = () => document.querySelector('[role=log] article:last-of-type .prose');
  while (!seen()) await new Promise(requestAnimationFrame);
  return { milliseconds: Math.round(performance.now() - start), nodes: document.querySelectorAll('*').length };
}, answer.session_id);
console.log('open a 2,000-message session:', opened);

const session = await page.context().newCDPSession(page);
await session.send('Performance.enable');
const metrics = async () => Object.fromEntries((await session.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value])) as Record<string, number>;
await page.evaluate(() => {
  const counts = { frames: 0, worst: 0 };
  (window as unknown as { counts: typeof counts }).counts = counts;
  const tick = () => ((counts.frames += 1), requestAnimationFrame(tick));
  requestAnimationFrame(tick);
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => (counts.worst = Math.max(counts.worst, entry.duration)))).observe({ type: 'longtask' });
});
const before = await metrics();
await page.fill('#composer', 'stream');
await page.keyboard.press('Enter');
await page.locator('[role=log]').getByText('word1199').waitFor({ timeout: 120_000 });
const after = await metrics();
const counts = await page.evaluate(() => (window as unknown as { counts: { frames: number; worst: number } }).counts);
const spent = (name: string) => (((after[name] ?? 0) - (before[name] ?? 0)) * 1000) / counts.frames;
console.log('stream of', words.join('').length, 'characters:', {
  frames: counts.frames,
  scriptMsPerFrame: spent('ScriptDuration').toFixed(2),
  layoutMsPerFrame: (spent('LayoutDuration') + spent('RecalcStyleDuration')).toFixed(2),
  taskMsPerFrame: spent('TaskDuration').toFixed(2),
  longestTaskMs: Math.round(counts.worst),
  nodes: await page.evaluate(() => document.querySelectorAll('*').length),
});
await closeBrowser();
await at.end();
