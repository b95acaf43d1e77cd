// The real binary with a scripted model, and a browser.

import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type BrowserContextOptions, type Page, type Request } from 'playwright-core';

export const TOKEN = 'onyx_sk_e2e';
export const WIDE = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

const target = process.env['ONYX_BIN_DIR'] ?? fileURLToPath(new URL('../../target/debug', import.meta.url));
const chromiumPath = process.env['ONYX_CHROMIUM'] ?? '/usr/bin/chromium';
const START_LIMIT_MS = 60_000;
/** The time limit is long, because the machine may be busy. */
const WAIT_LIMIT_MS = 60_000;

export interface Answer {
  text?: string | string[];
  calls?: { id: string; name: string; input: object }[];
  /** After its text the answer continues without end until the client disconnects. */
  hang?: boolean;
  delayMs?: number;
  reasoning?: string;
  /** The provider refuses the request with this status. */
  refused?: number;
}

function script(answer: Answer): object {
  if (answer.refused) return { status: { code: answer.refused, body: '{}' } };
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
  /** The address of the scripted model. */
  model: string;
  /** Sets the model's next answers; before and after them it answers `ok`. */
  script: (answers: Answer[], fallback?: Answer) => Promise<void>;
  /** Writes further files into the home, over existing ones. */
  write: (files: Record<string, string>) => Promise<void>;
  /** Kills the server and starts it again with the same home and port. */
  restart: () => Promise<void>;
  kill: () => Promise<void>;
  start: () => Promise<void>;
  api: (path: string, init?: RequestInit) => Promise<Response>;
  end: () => Promise<void>;
}

/** Runs a command of the binary to its end. */
export async function runOnyx(words: string[], environment: Record<string, string>): Promise<void> {
  const child = begin('onyx', words, environment);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`onyx ${words.join(' ')} ended with ${String(code)}`);
}

export interface Setting {
  files?: Record<string, string>;
  agents?: object[];
  /** The `agents.defaults` of the config. */
  defaults?: object;
  providers?: object;
  price?: { input: number; output: number };
  contextWindow?: number;
  fallback?: Answer;
  /** The `tools` of the config. */
  tools?: object;
  /** For one of several gateways: its name, the `storage` of the config, and the master key. */
  gateway?: { id: string; storage: object; masterKey: string };
  /** The port of the test's own Ollama. */
  ollama?: number;
}

/** A port at which nothing listens, so that model servers on the test machine are not found. */
const DEAD = 9;
const LOCAL = ['ollama', 'lmstudio', 'vllm', 'llama.cpp', 'llamacpp'];

export async function stage(answers: Answer[], options: Setting = {}): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'onyx-e2e-'));
  const home = join(folder, 'home');
  const model = await scripted(join(folder, 'script.json'));
  await model.load(answers, options.fallback);
  const baseUrl = model.url();
  const config = (port: number) => ({
    gateway: { port, auth: { mode: 'token', token: TOKEN }, ...(options.gateway && { id: options.gateway.id }) },
    ...(options.gateway && { storage: options.gateway.storage }),
    // A price is set, so that no run reports an unknown one.
    providers: options.providers ?? {
      mine: {
        kind: 'openai',
        baseUrl,
        apiKey: 'k',
        models: [
          { id: 'some-model', contextWindow: options.contextWindow, price: options.price ?? { input: 0, output: 0 } },
        ],
      },
    },
    ...(options.tools && { tools: options.tools }),
    agents: {
      defaults: { titles: 'words', ...options.defaults },
      list: options.agents ?? [{ id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'act' }],
    },
  });
  const write = async (files: Record<string, string>) => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(home, path)), { recursive: true });
      await writeFile(join(home, path), text);
    }
  };
  await mkdir(home, { recursive: true });
  await write(options.files ?? {});
  await writeFile(join(home, 'onyx.json'), JSON.stringify(config(0)));
  let server: ChildProcess;
  let url = '';
  const start = async () => {
    const ports = LOCAL.map((name) => `${name}=${(name === 'ollama' && options.ollama) || DEAD}`);
    server = begin('onyx', ['serve'], {
      ONYX_HOME: home,
      ONYX_KEYS: join(folder, 'keys'),
      ONYX_LOCAL_PORTS: ports.join(),
      ...(options.gateway && { ONYX_MASTER_KEY: options.gateway.masterKey }),
    });
    url = await says(server, /(http:\/\/127\.0\.0\.1:\d+)\b(?!\/v1)/);
    await healthy(url);
  };
  const kill = () => gone(server);
  await start();
  await writeFile(join(home, 'onyx.json'), JSON.stringify(config(Number(new URL(url).port))));
  return {
    url,
    home,
    model: baseUrl,
    script: model.load,
    write,
    start,
    kill,
    restart: async () => (await kill(), start()),
    api: (path, init = {}) =>
      fetch(url + path, {
        ...init,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...init.headers },
      }),
    end: async () => {
      await kill();
      await model.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A port below those that systems assign automatically, so that a port which is released stays free for a moment. */
const somePort = () => 15_000 + Math.floor(Math.random() * 15_000);

/** The scripted model server. A new script starts a new process at the same address. */
async function scripted(file: string): Promise<{ load: Stage['script']; url: () => string; end: () => Promise<void> }> {
  let model: ChildProcess | undefined;
  let url = '';
  const end = async () => model && gone(model);
  const listen = (port: number) => {
    model = begin('scripted-model', ['--script', file, '--port', String(port)]);
    return says(model, /(http:\S+)/);
  };
  const load = async (answers: Answer[], fallback: Answer = { text: 'ok' }) => {
    await end();
    await writeFile(file, JSON.stringify({ answers: answers.map(script), default: script(fallback) }));
    // The first port may be in use by another program, so a second one is tried.
    url =
      url === '' ? await listen(somePort()).catch(() => listen(somePort())) : await listen(Number(new URL(url).port));
  };
  return { load, url: () => url, end };
}

const running = new Set<ChildProcess>();

function begin(program: string, words: string[], environment: Record<string, string> = {}): ChildProcess {
  const child = spawn(join(target, program), words, { env: { ...process.env, ...environment } });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

// A test worker is ended when its files are done, so the processes that all its files share end with it.
process.once('SIGTERM', () => {
  for (const child of running) child.kill('SIGKILL');
  process.kill(process.pid, 'SIGKILL');
});

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
  for (
    const until = Date.now() + START_LIMIT_MS;
    Date.now() < until;
    await new Promise((resolve) => setTimeout(resolve, 30))
  ) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok) return;
  }
  throw new Error('the server is not healthy');
}

let browser: Promise<Browser> | undefined;

export function openBrowser(): Promise<Browser> {
  browser ??= chromium.launch({
    executablePath: chromiumPath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  return browser;
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = undefined;
}

export interface Visit extends Page {
  /** What the page must not do and did: errors, policy violations, requests to other hosts. */
  wrongs: string[];
  /** The address of the page's server. */
  home: string;
  /** The requests without an answer. */
  asked: Set<Request>;
}

/** Opens a signed-in page in a new context. It records everything that it must not do. */
export async function visit(
  at: Stage,
  path = '/chat',
  options: BrowserContextOptions & { token?: string } = {},
): Promise<Visit> {
  const page = await blank(options);
  await enter(page, at, path);
  return page;
}

async function blank({ token = TOKEN, ...rest }: BrowserContextOptions & { token?: string } = {}): Promise<Visit> {
  const context = await (await openBrowser()).newContext({
    viewport: WIDE,
    serviceWorkers: 'block',
    reducedMotion: 'reduce',
    ...rest,
  });
  await context.addInitScript((value) => {
    // The preview frame has an opaque origin without storage, and its policy is meant to block things.
    if (window.origin === 'null') return;
    if (value && !localStorage.getItem('onyx.token')) localStorage.setItem('onyx.token', JSON.stringify(value));
    addEventListener('securitypolicyviolation', (event) =>
      console.error(`CSP ${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    );
  }, token);
  const page = (await context.newPage()) as Visit;
  page.setDefaultTimeout(WAIT_LIMIT_MS);
  watch(page);
  return page;
}

async function enter(page: Visit, at: Stage, path: string): Promise<void> {
  Object.assign(page, { home: at.url, wrongs: [] });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: at.url });
  await page.goto(at.url + path);
}

/** Pages that tests reuse, because opening a new one takes longer than most tests. */
const idle: Visit[] = [];

/** Takes such a page and clears everything stored in it, so that it is like a new one. */
export async function borrow(at: Stage, path = '/chat', viewport: typeof WIDE = WIDE): Promise<Visit> {
  const page = idle.pop() ?? (await blank());
  await page.setViewportSize(viewport);
  const session = await page.context().newCDPSession(page);
  await session.send('Storage.clearDataForOrigin', { origin: at.url, storageTypes: 'all' });
  await session.detach();
  await enter(page, at, path);
  return page;
}

/** Returns the page for the next test, unless the test closed it. Its other tabs are closed. */
export async function giveBack(page: Visit): Promise<void> {
  if (page.isClosed()) return;
  for (const other of page.context().pages()) if (other !== page) await other.close();
  await page.goto('about:blank');
  idle.push(page);
}

function watch(page: Visit): void {
  page.wrongs = [];
  page.asked = new Set();
  page.on('response', (response) => page.asked.delete(response.request()));
  page.on('requestfailed', (request) => page.asked.delete(request));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !/WebSocket connection|ERR_(INTERNET_DISCONNECTED|CONNECTION_REFUSED)/.test(text))
      page.wrongs.push(text);
  });
  page.on('pageerror', (error) => page.wrongs.push(String(error)));
  page.on('request', (request) => {
    const url = request.url();
    if (url.startsWith(page.home)) page.asked.add(request);
    else if (!/^(data|blob):/.test(url)) page.wrongs.push(`request to ${url}`);
  });
}
