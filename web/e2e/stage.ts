// The real binary with the scripted model behind it, and a browser before it.

import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

export const TOKEN = 'onyx_sk_e2e';
export const WIDE = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

const target = process.env['ONYX_BIN_DIR'] ?? fileURLToPath(new URL('../../target/debug', import.meta.url));
const chromiumPath = process.env['ONYX_CHROMIUM'] ?? '/usr/bin/chromium';
const START_LIMIT_MS = 60_000;
/** Long: the machine may be at work on much else. */
const WAIT_LIMIT_MS = 60_000;

export interface Answer {
  text?: string | string[];
  calls?: { id: string; name: string; input: object }[];
  /** After the text nothing more is said until the client goes away. */
  hang?: boolean;
  delayMs?: number;
  reasoning?: string;
}

function script(answer: Answer): object {
  const texts = answer.text === undefined ? [] : [answer.text].flat();
  const calls = (answer.calls ?? []).map(({ id, name, input }) => ({ id, name, pieces: [JSON.stringify(input)] }));
  const steps: object[] = [
    ...(answer.reasoning ? [{ reasoning: answer.reasoning }] : []),
    ...texts.map((text) => ({ text })),
    ...(calls.length > 0 ? [{ tool_calls: calls }] : []),
  ];
  const end = [{ usage: { input: 1200, output: 300 } }, { finish: calls.length > 0 ? 'tool_calls' : 'stop' }];
  const all = answer.hang ? [...steps, 'hang'] : [...steps, ...end];
  return { script: { steps: all }, delivery: { delay_ms: answer.delayMs ?? 0 } };
}

export interface Stage {
  url: string;
  home: string;
  /** Where the scripted model answers. */
  model: string;
  /** Kills the server and starts it again on the same home and port. */
  restart: () => Promise<void>;
  kill: () => Promise<void>;
  start: () => Promise<void>;
  api: (path: string, init?: RequestInit) => Promise<Response>;
  end: () => Promise<void>;
}

export async function stage(answers: Answer[], options: { files?: Record<string, string>; agents?: object[]; providers?: object; price?: { input: number; output: number }; contextWindow?: number; fallback?: Answer } = {}): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'onyx-e2e-'));
  const home = join(folder, 'home');
  const plan = { answers: answers.map(script), default: script(options.fallback ?? { text: 'ok' }) };
  await writeFile(join(folder, 'script.json'), JSON.stringify(plan));
  const model = spawn(join(target, 'scripted-model'), ['--script', join(folder, 'script.json')]);
  const baseUrl = await says(model, /(http:\S+)/);
  const config = (port: number) => ({
    gateway: { port, auth: { mode: 'token', token: TOKEN } },
    // A price, so that no run has to say that it does not know one.
    providers: options.providers ?? { mine: { kind: 'openai', baseUrl, apiKey: 'k', models: [{ id: 'some-model', contextWindow: options.contextWindow, price: options.price ?? { input: 0, output: 0 } }] } },
    agents: { defaults: { titles: 'words' }, list: options.agents ?? [{ id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'act' }] },
  });
  for (const [path, text] of Object.entries(options.files ?? {})) {
    await mkdir(dirname(join(home, path)), { recursive: true });
    await writeFile(join(home, path), text);
  }
  await mkdir(home, { recursive: true });
  await writeFile(join(home, 'onyx.json'), JSON.stringify(config(0)));
  let server: ChildProcess;
  let url = '';
  const start = async () => {
    server = spawn(join(target, 'onyx'), ['serve'], { env: { ...process.env, ONYX_HOME: home } });
    url = await says(server, /(http:\/\/127\.0\.0\.1:\d+)\b(?!\/v1)/);
    await healthy(url);
  };
  const kill = async () => {
    const gone = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGKILL');
    await gone;
  };
  await start();
  await writeFile(join(home, 'onyx.json'), JSON.stringify(config(Number(new URL(url).port))));
  return {
    url,
    home,
    model: baseUrl,
    start,
    kill,
    restart: async () => (await kill(), start()),
    api: (path, init = {}) => fetch(url + path, { ...init, headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...init.headers } }),
    end: async () => {
      if (server.exitCode === null && server.signalCode === null) await kill();
      model.kill('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function says(child: ChildProcess, wanted: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const hear = (bytes: Buffer) => {
      said += bytes.toString();
      const match = wanted.exec(said);
      if (match?.[1] && said.includes('\n')) resolve(match[1]);
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${said}`)));
    setTimeout(() => reject(new Error(`not started: ${said}`)), START_LIMIT_MS).unref();
  });
}

async function healthy(url: string): Promise<void> {
  for (const until = Date.now() + START_LIMIT_MS; Date.now() < until; await new Promise((resolve) => setTimeout(resolve, 30))) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok) return;
  }
  throw new Error('the server is not healthy');
}

let browser: Promise<Browser> | undefined;

export function openBrowser(): Promise<Browser> {
  browser ??= chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  return browser;
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = undefined;
}

export interface Visit extends Page {
  /** What the page did that it must not: errors, policy reports, requests to other hosts. */
  wrongs: string[];
}

/** A signed-in page that remembers everything it did wrong. */
export async function visit(at: Stage, path = '/chat', options: BrowserContextOptions & { token?: string } = {}): Promise<Visit> {
  const { token = TOKEN, ...rest } = options;
  const context = await (await openBrowser()).newContext({ viewport: WIDE, serviceWorkers: 'block', ...rest });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: at.url });
  await context.addInitScript((value) => {
    if (value && !localStorage.getItem('onyx.token')) localStorage.setItem('onyx.token', JSON.stringify(value));
    addEventListener('securitypolicyviolation', (event) => console.error(`CSP ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  }, token);
  const page = (await context.newPage()) as Visit;
  page.setDefaultTimeout(WAIT_LIMIT_MS);
  page.wrongs = [];
  watch(page, at.url);
  await page.goto(at.url + path);
  return page;
}

export function watch(page: Visit, home: string): void {
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !/WebSocket connection|ERR_(INTERNET_DISCONNECTED|CONNECTION_REFUSED)/.test(text)) page.wrongs.push(text);
  });
  page.on('pageerror', (error) => page.wrongs.push(String(error)));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(home) && !/^(data|blob):/.test(url)) page.wrongs.push(`request to ${url}`);
  });
}
