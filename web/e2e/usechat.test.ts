import { fileURLToPath } from 'node:url';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stage, TOKEN, visit, type Stage, type Visit } from './stage';

let at: Stage;
let page: Visit;

beforeAll(async () => {
  const call = { id: 'a', name: 'read_file', input: { path: 'x' } };
  const slow = Array.from({ length: 5 }, (_, index) => `piece ${index} `);
  at = await stage([
    { text: slow, delayMs: 150 },
    { reasoning: 'Let me see.', text: 'Seen.' },
    { text: 'I would look.', calls: [call] },
    { text: 'Half', hang: true },
    { text: 'Whole again.' },
    { text: 'Severed', hang: true },
  ]);
  const script = await bundled();
  page = await visit(at, '/nowhere');
  await page.route(/\/usechat(\.js)?(\?|$)/, (route) =>
    route.fulfill(
      route.request().url().includes('.js')
        ? { contentType: 'text/javascript', body: script }
        : {
            contentType: 'text/html',
            body: '<!doctype html><title>x</title><body><script src="/usechat.js"></script>',
          },
    ),
  );
  await page.goto(`${at.url}/usechat?token=${TOKEN}`);
});
afterAll(async () => {
  await page.context().close();
  await at.end();
});

/** The page with the SDK, bundled into one script. */
async function bundled(): Promise<string> {
  const input = fileURLToPath(new URL('usechat-page.tsx', import.meta.url));
  const made = (await build({
    configFile: false,
    logLevel: 'error',
    oxc: { jsx: { runtime: 'automatic', development: false } },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, minify: false, rolldownOptions: { input, output: { format: 'iife' } } },
  })) as Rolldown.RolldownOutput;
  return made.output[0].code;
}

interface Shown {
  role: string;
  parts: { type: string; text?: string; state?: string }[];
  metadata?: { finishReason: string; usage: { outputTokens: number } };
}

const status = (wanted: string) => page.getByTestId('status').getByText(wanted, { exact: true }).waitFor();
const messages = async () => JSON.parse((await page.getByTestId('messages').textContent()) ?? '[]') as Shown[];
const last = async () => (await messages()).at(-1) as Shown;
const texts = ({ parts }: Shown) => parts.filter((part) => part.type === 'text').map((part) => part.text);
async function send(words: string, button = 'Send'): Promise<void> {
  await page.getByLabel('Words').fill(words);
  await page.getByRole('button', { name: button, exact: true }).click();
}

test('useChat of the AI SDK sends, streams, stops, goes on and says what failed', async () => {
  // The page itself records what it shows, because a check from outside may come too late.
  const shown = await page.evaluateHandle(() => {
    const seen: string[] = [];
    new MutationObserver(() => seen.push(document.body.innerText)).observe(document.body, {
      subtree: true,
      childList: true,
      characterData: true,
    });
    return seen;
  });
  await send('hello');
  await expect.poll(async () => (await shown.jsonValue()).some((text) => text.includes('streaming'))).toBe(true);
  await status('ready');
  expect((await shown.jsonValue()).some((text) => text.includes('piece 0') && !text.includes('piece 4'))).toBe(true);
  const first = await last();
  expect(texts(first)).toEqual(['piece 0 piece 1 piece 2 piece 3 piece 4 ']);
  expect(first.metadata).toMatchObject({ finishReason: 'stop', usage: { outputTokens: 300 } });

  await send('think');
  await page.getByTestId('messages').getByText('Seen.').waitFor();
  await status('ready');
  expect((await last()).parts.map(({ type, text, state }) => [type, text, state])).toEqual([
    ['step-start', undefined, undefined],
    ['reasoning', 'Let me see.', 'done'],
    ['text', 'Seen.', 'done'],
  ]);

  // No tools were offered. If the model calls one all the same, nothing breaks and nothing runs.
  await send('call');
  await page.getByTestId('messages').getByText('I would look.').waitFor();
  await status('ready');
  expect((await last()).parts.map(({ type }) => type)).toEqual(['step-start', 'text']);
  expect((await last()).metadata).toMatchObject({ finishReason: 'tool-calls' });

  await send('stop here');
  await page.getByTestId('messages').getByText('Half').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await status('ready');
  expect(texts(await last())).toEqual(['Half']);
  await page.getByRole('button', { name: 'Again' }).click();
  await page.getByTestId('messages').getByText('Whole again.').waitFor();
  await status('ready');
  expect((await messages()).map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
    'user',
    'assistant',
    'user',
    'assistant',
  ]);
  const asked = (await (await fetch(`${at.model.replace(/\/v1$/, '')}/_requests`)).json()) as {
    body: { messages: { content: unknown }[]; tools?: unknown[] };
  }[];
  expect(JSON.stringify(asked.at(-1)?.body.messages.at(-1))).toContain('stop here');
  expect(asked.every(({ body }) => !body.tools?.length)).toBe(true);

  await send('hello?', 'Send to nobody');
  await status('error');
  expect(await page.getByTestId('error').textContent()).toContain('model_not_found');
  const wrongs = page.wrongs.splice(0).filter((wrong) => !wrong.includes('404'));
  expect(wrongs).toEqual([]);

  // A connection that is cut in the middle of a stream is an error, and the received text stays.
  await send('and then the line is gone');
  await page.getByTestId('messages').getByText('Severed').waitFor();
  await at.kill();
  await status('error');
  expect(texts(await last())).toEqual(['Severed']);
});
