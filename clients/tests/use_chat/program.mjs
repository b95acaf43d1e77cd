// useChat of @ai-sdk/react in Chromium, with a model and with an agent. The page is on another site than Onyx.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import {
  CUT,
  counts,
  HELLO,
  HELLO_ANSWER,
  loadScript,
  reachesTheProvider,
  TOKEN,
  TOO_MANY,
  tell,
  URL as ONYX,
  WAIT,
  waitUntil,
  WRONG_TOKEN,
} from '../scenario.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const made = await build({
  entryPoints: [join(here, 'page.jsx')],
  bundle: true,
  write: false,
  format: 'esm',
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"' },
  logLevel: 'error',
});
const html =
  '<!doctype html><meta charset="utf-8"><title>useChat</title><div id="root"></div><script type="module" src="/page.js"></script>';
const site = createServer((request, response) => {
  const isScript = request.url.startsWith('/page.js');
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
  response.end(isScript ? made.outputFiles[0].text : html);
});
await new Promise((resolve) => site.listen(Number(process.env.PAGE_PORT ?? 0), '127.0.0.1', resolve));
const address = `http://127.0.0.1:${site.address().port}`;

const browser = await chromium.launch({
  executablePath: process.env.ONYX_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
});

let chats = 0;
async function open(target, { token = TOKEN, chat = `chat-${++chats}`, resume = 'no' } = {}) {
  const page = await browser.newPage();
  page.chat = chat;
  const query = new URLSearchParams({ onyx: ONYX, token, chat, resume, ...target });
  await page.goto(`${address}/?${query}`);
  await page.waitForSelector('form');
  return page;
}

async function say(page, words) {
  await page.fill('input', words);
  await page.click('.send');
}

const status = (page, wanted) => page.waitForSelector(`main[data-status="${wanted}"]`, { timeout: 30_000 });
const shows = (page, text) => page.waitForSelector(`.assistant >> text=${text}`, { timeout: 30_000 });
const api = async (path) => {
  const answer = await fetch(`${ONYX}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  assert.equal(answer.status, 200, path);
  return answer.json();
};

const text = (said) => ({
  script: { steps: [{ text: said }, { usage: { input: 10, output: 5 } }, { finish: 'stop' }] },
});
const call = (id, name, input) => ({
  script: {
    steps: [
      { tool_calls: [{ id, name, pieces: [JSON.stringify(input)] }] },
      { usage: { input: 10, output: 5 } },
      { finish: 'tool_calls' },
    ],
  },
});
const rule = (answer, ...contains) => ({ contains, answer });
const script = JSON.parse(process.env.SCRIPT);
const withRules = (...rules) => loadScript({ ...script, rules: [...rules, ...script.rules] });

const both = {
  plain: async (target) => {
    const page = await open(target);
    await say(page, HELLO);
    await shows(page, HELLO_ANSWER);
    await status(page, 'ready');
    await page.close();
  },
  stream: async (target) => {
    const page = await open(target);
    await say(page, WAIT);
    // The first words are shown while the answer continues.
    await shows(page, 'Hel');
    await status(page, 'streaming');
    await page.close();
    await waitUntil('the answer to be dropped', async () => (await counts()).answering === 0, 30);
  },
  'refused key': async (target) => {
    const before = (await counts()).received;
    const page = await open(target, { token: WRONG_TOKEN });
    await say(page, HELLO);
    await status(page, 'error');
    assert.equal((await counts()).received, before, 'the provider was asked');
    await page.close();
  },
  'rate limit': async (target) => {
    const page = await open(target);
    await say(page, TOO_MANY);
    await status(page, 'error');
    assert.match(await page.innerText('.error'), /limit|Too many/i);
    await page.close();
  },
  'cut stream': async (target) => {
    const page = await open(target);
    await say(page, CUT);
    await status(page, 'error');
    await page.close();
  },
  cancel: (target) =>
    reachesTheProvider(async () => {
      const page = await open(target);
      await say(page, WAIT);
      await shows(page, 'Hel');
      await page.click('.stop');
      await status(page, 'ready');
      await page.close();
    }),
};

const agents = {
  tools: async (target) => {
    await withRules(
      rule(text('It is noted.'), '"role":"tool"'),
      rule(call('call_1', 'memory_write', { text: 'mauve' }), 'keep this'),
    );
    const page = await open(target);
    await say(page, 'keep this');
    await page.waitForSelector('.tool[data-tool="memory_write"][data-state="output-available"]');
    await shows(page, 'It is noted.');
    await status(page, 'ready');
    await page.close();
    await loadScript(script);
  },
  'kept session': async (target) => {
    const page = await open(target);
    await say(page, HELLO);
    await shows(page, HELLO_ANSWER);
    await status(page, 'ready');
    await say(page, 'and once more');
    await page.waitForFunction(() => document.querySelectorAll('.assistant').length === 2);
    await status(page, 'ready');
    const session = await page.getAttribute('.assistant >> nth=1', 'data-session');
    assert.equal(await page.getAttribute('.assistant >> nth=0', 'data-session'), session);
    const { turns } = await api(`/v1/sessions/${session}/turns`);
    const asked = JSON.stringify(turns);
    assert.ok(asked.includes(HELLO) && asked.includes('and once more'), asked);
    assert.ok((await api('/v1/sessions')).sessions.some((one) => one.id === session));
    await page.close();
  },
  resume: async (target) => {
    const page = await open(target);
    await say(page, WAIT);
    await shows(page, 'Hel');
    const again = await open(target, { chat: page.chat, resume: 'yes' });
    await shows(again, 'Hel');
    await status(again, 'streaming');
    await page.close();
    // If the first reader leaves, nothing is stopped while another one reads.
    assert.equal((await counts()).answering, 1);
    await reachesTheProvider(() => again.close());
    const over = await open(target, { chat: page.chat, resume: 'yes' });
    await status(over, 'ready');
    await over.close();
  },
  approval: async (target) => {
    await withRules(
      rule(text('That is over.'), '"tool_call_id":"call_2"'),
      rule(call('call_2', 'delete_file', { path: 'note.md' }), '"tool_call_id":"call_1"'),
      rule(call('call_1', 'write_file', { path: 'note.md', content: 'mauve' }), 'throw it away'),
    );
    for (const [button, state] of [
      ['.approve', 'output-available'],
      ['.deny', 'output-denied'],
    ]) {
      const page = await open(target);
      await say(page, 'throw it away');
      await page.waitForSelector('.tool[data-state="approval-requested"]');
      await status(page, 'ready');
      await page.click(button);
      await page.waitForSelector(`.tool[data-tool="delete_file"][data-state="${state}"]`);
      await shows(page, 'That is over.');
      await status(page, 'ready');
      await page.close();
    }
    await loadScript(script);
  },
};

async function run(columns, target, label) {
  for (const [column, check] of Object.entries(columns)) {
    let error = null;
    try {
      await check(target);
    } catch (thrown) {
      error = String(thrown?.stack ?? thrown);
      await loadScript(script);
    }
    tell(column, 'useChat', label, error);
  }
}

await run({ ...both, ...agents }, { agent: 'main' }, 'agent');
await run(both, { model: 'mine/m' }, 'model');
await browser.close();
site.close();
