import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Onyx, type OnyxError } from '@onyx/sdk';

// A server that is busy, slow or gone on command, because the real one cannot be made so at a given moment.
type Answer = (request: IncomingMessage, response: ServerResponse) => void;
let answers: Answer[] = [];
let asked: string[] = [];
let server: Server;
let onyx: Onyx;

const problem =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response
      .writeHead(status, { 'content-type': 'application/problem+json', 'x-request-id': 'r-7', ...headers })
      .end(JSON.stringify({ status, code: 'overloaded', title: 'Busy', detail: 'Too much.', hint: 'Wait.', load: 9 }));
const good: Answer = (_, response) => response.end('{"sessions":[]}');
const cut: Answer = (request) => request.socket.destroy();

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.method ?? '');
    (answers.shift() ?? good)(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onyx = new Onyx({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'onyx_sk_x' });
});
beforeEach(() => ((answers = []), (asked = [])));
afterAll(() => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))));

test('what may be repeated is repeated when the server asks for it, after as long as it asks for', async () => {
  answers = [problem(503, { 'retry-after': '1' }), problem(429, { 'retry-after': '0' }), good];
  const begun = Date.now();
  expect((await onyx.sessions.list()).sessions).toEqual([]);
  expect(Date.now() - begun).toBeGreaterThanOrEqual(990);
  expect(asked).toEqual(['GET', 'GET', 'GET']);
});

test('after the last try the error says everything that the server said', async () => {
  answers = [1, 2, 3].map(() => problem(503, { 'retry-after': '0' }));
  const error = (await onyx.sessions.list().catch((caught: unknown) => caught)) as OnyxError;
  expect(error).toMatchObject({
    code: 'overloaded',
    message: 'Too much.',
    hint: 'Wait.',
    status: 503,
    requestId: 'r-7',
    retryAfterSeconds: 0,
    details: { load: 9 },
  });
  expect(asked).toHaveLength(3);
});

test('what might be done twice is not repeated, nor what would take too long', async () => {
  answers = [problem(503, { 'retry-after': '0' })];
  await expect(onyx.threads.sendMessage('t', 'hi')).rejects.toMatchObject({ status: 503 });
  answers = [problem(503, { 'retry-after': '3600' })];
  await expect(onyx.sessions.list()).rejects.toMatchObject({ retryAfterSeconds: 3600 });
  answers = [problem(500)];
  await expect(onyx.sessions.list()).rejects.toMatchObject({ status: 500 });
  answers = [problem(503, { 'retry-after': '0' })];
  await expect(onyx.with({ retries: 0 }).sessions.list()).rejects.toMatchObject({ status: 503 });
  expect(asked).toHaveLength(4);
});

test('a connection that breaks is tried again for reading only', async () => {
  answers = [cut, good];
  expect((await onyx.sessions.list()).sessions).toEqual([]);
  answers = [cut, good];
  const removed = await onyx.sessions.remove('s').catch((caught: unknown) => caught);
  expect(removed).toMatchObject({ code: 'offline', isOffline: true });
  expect(asked).toEqual(['GET', 'GET', 'DELETE']);
});

test('a server that does not answer in time is told as such, and a caller who has enough ends the call', async () => {
  const silent: Answer = () => undefined;
  answers = [silent];
  await expect(onyx.with({ timeoutMs: 50 }).me()).rejects.toMatchObject({ code: 'timeout' });
  const enough = new AbortController();
  answers = [silent];
  const call = onyx.with({ signal: enough.signal }).me();
  enough.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
  // Aborting also ends the wait before a retry.
  const bored = new AbortController();
  answers = [problem(503, { 'retry-after': '20' })];
  const waiting = onyx.with({ signal: bored.signal }).me();
  setTimeout(() => bored.abort(new Error('bored')), 100);
  await expect(waiting).rejects.toThrow('bored');
});
