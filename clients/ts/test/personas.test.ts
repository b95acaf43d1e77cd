import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Onyx } from '@onyx/sdk';

// The wire formats of surfaces.md, from a server with prepared answers.
let says: { type: string; body: string };
const asked: { method: string; url: string; body: string }[] = [];
let server: Server;
let onyx: Onyx;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      asked.push({ method: request.method ?? '', url: request.url ?? '', body });
      response.writeHead(200, { 'content-type': says.type, 'x-onyx-session-id': 's1', 'x-onyx-run-id': 'r1' });
      response.end(says.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onyx = new Onyx({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'onyx_sk_x' });
});
beforeEach(() => void (asked.length = 0));
afterAll(() => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))));

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const told: T[] = [];
  for await (const event of events) told.push(event);
  return told;
}

const stream = (...events: object[]) => ({
  type: 'text/event-stream',
  body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
});
const lines = (...events: object[]) => ({
  type: 'application/x-ndjson',
  body: events.map((event) => `${JSON.stringify(event)}\n`).join(''),
});

test('words to the editor keep their names on the wire, and its events come as they are with the run they belong to', async () => {
  const events = [
    { type: 'text_delta', content: 'Hi' },
    { type: 'tool_call', id: 't', toolUseId: 'u', toolName: 'get_persona', input: { a_b: 1 } },
    { type: 'done' },
  ];
  says = stream(...events);
  const run = await onyx.personas.chat('optimist', 'hello');
  expect([run.sessionId, run.runId]).toEqual(['s1', 'r1']);
  expect(await all(run.events)).toEqual(events);
  expect(asked).toEqual([
    { method: 'POST', url: '/api/persona-agent/chat', body: '{"personaId":"optimist","message":"hello"}' },
  ]);
});

test('a stream that ends before its end is an error and not an answer', async () => {
  says = stream({ type: 'text_delta', content: 'Hi' });
  await expect(onyx.personas.runTestInput('optimist', 'math').then((run) => all(run.events))).rejects.toMatchObject({
    code: 'interrupted',
  });
  says = lines({ type: 'start', sessionId: 's1', runId: 'r1' });
  await expect(all(onyx.actions.run('tidy'))).rejects.toMatchObject({ code: 'interrupted' });
});

test('an action is asked for in the server’s names and told in the caller’s; arguments stay as they are', async () => {
  says = lines(
    { type: 'start', sessionId: 's1', runId: 'r1' },
    { type: 'tool_call', id: 'c', tool: 'write_file', args: { a_b: 1 } },
    {
      type: 'done',
      sessionId: 's1',
      runId: 'r1',
      status: 'done',
      usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
    },
  );
  expect(await all(onyx.actions.run('sum up', { dryRun: true, selection: 'x' }))).toEqual([
    { type: 'start', sessionId: 's1', runId: 'r1' },
    { type: 'tool_call', id: 'c', tool: 'write_file', args: { a_b: 1 } },
    {
      type: 'done',
      sessionId: 's1',
      runId: 'r1',
      status: 'done',
      usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
    },
  ]);
  expect(asked).toEqual([
    { method: 'POST', url: '/api/agent/actions/sum%20up/run', body: '{"dry_run":true,"selection":"x"}' },
  ]);
});

test('test inputs and history are had by the persona', async () => {
  says = { type: 'application/json', body: '{"testInputs":[{"id":"math","content":"2+2?"}]}' };
  expect(await onyx.personas.testInputs('optimist')).toEqual([{ id: 'math', content: '2+2?' }]);
  says = { type: 'application/json', body: '{"id":"a/b","content":"new"}' };
  await onyx.personas.updateTestInput('optimist', { id: 'a/b', content: 'new' });
  says = { type: 'application/json', body: '{"turns":[]}' };
  expect(await onyx.personas.history('optimist', { limit: 5 })).toEqual({ turns: [] });
  expect(asked.map(({ method, url, body }) => `${method} ${url} ${body}`)).toEqual([
    'GET /api/storage/personas/optimist/test-inputs ',
    'PUT /api/storage/personas/optimist/test-inputs/a%2Fb {"content":"new"}',
    'GET /api/persona-agent/history?personaId=optimist&limit=5 ',
  ]);
});
