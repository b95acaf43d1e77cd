import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Onyx, OnyxError, type EventEnvelope } from '@onyx/sdk';
import { stage, TOKEN, type Stage } from '../../../web/e2e/stage';

const PIECES = Array.from({ length: 40 }, (_, index) => `piece ${index}, `);
/** An answer that takes seconds, so that connections break many times within it on a slow machine too. */
const SLOWLY = { text: PIECES, delayMs: 100 };

let at: Stage;
let onyx: Onyx;

beforeAll(async () => {
  at = await stage([], { fallback: { text: PIECES, delayMs: 15 } });
  onyx = new Onyx({ baseUrl: at.url, token: TOKEN });
});
afterAll(() => at.end());

const until = async (holds: () => boolean) => {
  for (const end = Date.now() + 20_000; !holds(); await new Promise((resolve) => setTimeout(resolve, 20))) {
    if (Date.now() > end) throw new Error('it never held');
  }
};

describe('over HTTP', () => {
  test('a chat streams its words and says how it ended', async () => {
    let text = '';
    let end: unknown;
    for await (const chunk of onyx.chat.stream({ message: 'hi' })) {
      if (chunk.type === 'chunk') text += chunk.text;
      else end = chunk;
    }
    expect(text).toBe(PIECES.join(''));
    expect(end).toMatchObject({ type: 'done', finishReason: 'done', usage: { input: 1200, cacheRead: 0 } });
  });

  test('an aborted chat stops its run', async () => {
    const abort = new AbortController();
    const read = async () => {
      for await (const chunk of onyx.chat.stream({ message: 'hi' }, { signal: abort.signal }))
        if (chunk.type === 'chunk') abort.abort();
    };
    await expect(read()).rejects.toThrow();
    const newest = async () => (await onyx.sessions.list({ limit: 1 })).sessions[0];
    let session = await newest();
    for (const end = Date.now() + 20_000; session?.lastRunStatus !== 'cancelled' && Date.now() < end; )
      session = await newest();
    expect(session?.lastRunStatus).toBe('cancelled');
  });

  test('sessions are listed, renamed, forked, exported and removed', async () => {
    for await (const _ of onyx.chat.stream({ message: 'about sessions' }));
    const session = (await onyx.sessions.list({ limit: 1 })).sessions[0];
    if (!session) throw new Error('no session');
    expect(session).toMatchObject({ agent: 'main', messageCount: 2, lastRunStatus: 'done' });
    expect((await onyx.sessions.update(session.id, { title: 'Named' })).title).toBe('Named');
    const { turns } = await onyx.sessions.turns(session.id);
    const user = turns.find((turn) => turn.type === 'user');
    expect(user).toMatchObject({ content: 'about sessions' });
    const fork = await onyx.sessions.fork(session.id, user?.id ?? '');
    expect(fork).toMatchObject({ root: session.id, forkTurn: user?.id });
    expect(await onyx.sessions.export(session.id, 'markdown')).toContain('about sessions');
    await onyx.sessions.remove(fork.id);
    await expect(onyx.sessions.get(fork.id)).rejects.toMatchObject({ code: 'not_found', status: 404 });
  });

  test('errors carry code, hint and field', async () => {
    const error = await onyx.sessions.get('7').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OnyxError);
    expect(error).toMatchObject({ code: 'invalid_request', field: 'id', status: 400 });
    const nobody = new Onyx({ baseUrl: 'http://127.0.0.1:9' });
    expect(await nobody.sessions.list().catch((caught: OnyxError) => caught.isOffline)).toBe(true);
  });

  test('a signed-in browser shows its cookie and the key of its page, and neither is enough alone', async () => {
    await onyx.http.response('/api/admin/people/owner/password', {
      method: 'PUT',
      body: { password: 'a good password' },
    });
    const signIn = await fetch(`${at.url}/api/auth/login`, {
      method: 'POST',
      body: JSON.stringify({ person: 'owner', password: 'a good password' }),
    });
    const { page_key: key } = (await signIn.json()) as { page_key: string };
    const cookie = signIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const asBrowser: typeof fetch = (input, init) =>
      fetch(input, { ...init, headers: { ...init?.headers, cookie, origin: at.url } });
    const browser = (pageKey?: string) => new Onyx({ baseUrl: at.url, fetch: asBrowser, pageKey: () => pageKey });
    expect(await browser(key).me()).toMatchObject({ person: 'owner', credential: 'session' });
    await expect(browser().me()).rejects.toMatchObject({ code: 'sign_in_again', status: 401 });
    await expect(new Onyx({ baseUrl: at.url, pageKey: () => key }).me()).rejects.toMatchObject({
      code: 'unauthenticated',
      status: 401,
    });
  });

  test('a 401 refreshes the token once, for all who met it', async () => {
    let token = 'onyx_sk_old';
    let refreshed = 0;
    const source = { current: () => token, refresh: async () => ((refreshed += 1), (token = TOKEN), true) };
    const client = new Onyx({ baseUrl: at.url, token: source });
    const lists = await Promise.all([client.sessions.list(), client.sessions.list()]);
    expect(lists).toHaveLength(2);
    expect(refreshed).toBe(1);
    const hopeless = new Onyx({ baseUrl: at.url, token: { current: () => 'no', refresh: async () => true } });
    await expect(hopeless.sessions.list()).rejects.toMatchObject({ status: 401 });
  });

  test('the events of a run are taken up again where they broke off', async () => {
    await at.script([], SLOWLY);
    let breaks = 0;
    const breaking: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!String(input).endsWith('/events') || breaks >= 5 || !response.body) return response;
      breaks += 1;
      let chunks = 0;
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) =>
          (chunks += 1) > 4 ? controller.error(new Error('cut')) : controller.enqueue(chunk),
      });
      return new Response(response.body.pipeThrough(cut), { status: response.status });
    };
    const client = new Onyx({ baseUrl: at.url, token: TOKEN, fetch: breaking });
    const socket = client.socket();
    socket.connect();
    await until(() => socket.link === 'online');
    const { runId } = await socket.send({ message: 'count' });
    let text = '';
    const numbers: number[] = [];
    for await (const told of client.runs.events(runId)) {
      numbers.push(told.seq);
      if (told.event.type === 'delta') text += told.event.text;
    }
    expect(breaks).toBeGreaterThanOrEqual(3);
    expect(text).toBe(PIECES.join(''));
    expect(new Set(numbers).size).toBe(numbers.length);
    socket.close();
  });
});

describe('over the socket', () => {
  test('a connection killed twenty times loses and doubles nothing', async () => {
    await at.script([], SLOWLY);
    const told: EventEnvelope[] = [];
    const sockets: WebSocket[] = [];
    const make = (url: string) => {
      const made = new WebSocket(url);
      sockets.push(made);
      return made;
    };
    const socket = onyx.socket({ event: (envelope) => told.push(envelope) }, make);
    socket.connect();
    await until(() => socket.link === 'online');
    const { runId } = await socket.send({ message: 'count' });
    for (let round = 0; round < 20 && told.at(-1)?.event.type !== 'done'; round += 1) {
      const seen = told.length;
      await until(() => told.length > seen);
      sockets.at(-1)?.close();
      await until(() => socket.link === 'offline');
      socket.wake();
      await until(() => socket.link === 'online');
    }
    await until(() => told.at(-1)?.event.type === 'done');
    const mine = told.filter((event) => event.runId === runId);
    expect(mine.map(({ event }) => (event.type === 'delta' ? event.text : '')).join('')).toBe(PIECES.join(''));
    expect(new Set(mine.map((event) => event.seq)).size).toBe(mine.length);
    expect(sockets.length).toBeGreaterThan(5);
    socket.close();
  });

  test('a wrong token ends in unauthenticated, not in endless tries', async () => {
    const stranger = new Onyx({ baseUrl: at.url, token: 'onyx_sk_wrong' }).socket();
    stranger.connect();
    await until(() => stranger.link === 'unauthenticated');
    await expect(stranger.status()).rejects.toMatchObject({ code: 'offline' });
    stranger.close();
    // The failure is reported again for a new attempt, with the server's message.
    const links: unknown[] = [];
    const again = new Onyx({ baseUrl: at.url, token: 'onyx_sk_wrong' }).socket({
      link: (link, refusal) => links.push([link, refusal?.code]),
    });
    for (const tries of [1, 2]) {
      again.connect();
      await until(() => links.length === tries);
    }
    expect(links).toEqual([
      ['unauthenticated', 'unauthenticated'],
      ['unauthenticated', 'unauthenticated'],
    ]);
    again.close();
  });

  test('status and sessions come in camelCase and errors are typed', async () => {
    const socket = onyx.socket();
    socket.connect();
    await until(() => socket.link === 'online');
    expect((await socket.status()).agents).toMatchObject([
      { id: 'main', model: 'mine/some-model', tier: 'act', default: true },
    ]);
    const { sessions } = await socket.sessions({ limit: 1 });
    expect(sessions[0]?.messageCount).toBeGreaterThan(0);
    await expect(socket.session('7')).rejects.toMatchObject({ code: 'invalid_request' });
    socket.close();
  });
});
