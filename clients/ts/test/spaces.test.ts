import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Onyx, OnyxError, type CompanionEnvelope } from '@onyx/sdk';

// The companion's wire format of surfaces.md, in the spelling that the client asks for, from a server that cuts the
// stream after two events.
const USAGE = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };
const EVENTS: [string, object][] = [
  ['tool', { id: 'u1', tool: 'read', argsSummary: 'page floor', status: 'running' }],
  ['tool', { id: 'u1', tool: 'read', argsSummary: 'page floor', status: 'ok' }],
  ['delta', { text: 'Oak.' }],
  ['draft', { pendingChangeId: 'd1', summary: 'Create task x' }],
  ['done', { assistantMessageId: 'm2', usage: USAGE }],
];
const asked: { method?: string; url?: string; last?: string; match?: string; names?: string; body: string }[] = [];
let server: Server;
let onyx: Onyx;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      const { method, url, headers } = request;
      const last = headers['last-event-id']?.toString();
      const names = headers['x-onyx-names']?.toString();
      asked.push({ method, url, last, match: headers['if-match'], names, body });
      if (url?.includes('/stream')) {
        const seen = Number(last?.split(':')[1] ?? 0);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const [at, [event, data]] of EVENTS.slice(seen, seen + 2).entries())
          response.write(`id: run1:${seen + at + 1}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
        return response.end();
      }
      if (method === 'PATCH') {
        response.writeHead(412, { 'content-type': 'application/problem+json' });
        return response.end(
          JSON.stringify({
            code: 'version_conflict',
            title: 'Changed',
            detail: 'It was changed.',
            hint: 'Read it again.',
          }),
        );
      }
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ messageId: 'm1' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onyx = new Onyx({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'onyx_sk_x' });
});
afterAll(() => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))));

test('a message goes with what is looked at, and its answer is taken up where it broke off', async () => {
  expect(await onyx.spaces.post('c1', 'hi', { entityType: 'page', entityId: 'floor' })).toBe('m1');
  expect(asked.at(-1)).toMatchObject({
    method: 'POST',
    url: '/api/conversations/c1/messages',
    names: 'camelCase',
    body: '{"content":"hi","view":{"entityType":"page","entityId":"floor"}}',
  });
  const told: CompanionEnvelope[] = [];
  for await (const one of onyx.spaces.stream('c1', { messageId: 'm1' })) told.push(one);
  expect(told.map(({ event }) => event)).toEqual([
    { type: 'tool', id: 'u1', tool: 'read', argsSummary: 'page floor', status: 'running' },
    { type: 'tool', id: 'u1', tool: 'read', argsSummary: 'page floor', status: 'ok' },
    { type: 'delta', text: 'Oak.' },
    { type: 'draft', pendingChangeId: 'd1', summary: 'Create task x' },
    { type: 'done', assistantMessageId: 'm2', usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } },
  ]);
  expect(new Set(told.map(({ runId }) => runId))).toEqual(new Set(['run1']));
  const streams = asked.filter(({ url }) => url?.includes('/stream'));
  expect(streams.map(({ url, last }) => [url, last])).toEqual(
    [undefined, 'run1:2', 'run1:4'].map((last) => ['/api/conversations/c1/stream?messageId=m1', last]),
  );
});

test('a change names the version it follows, and says when that is no longer there', async () => {
  const changed = onyx.spaces.change('home', 'pages', 'a b', { body: 'x', fields: { due_date: null } }, 'abc');
  await expect(changed).rejects.toThrow(OnyxError);
  await expect(changed).rejects.toMatchObject({ code: 'version_conflict', status: 412 });
  expect(asked.at(-1)).toMatchObject({
    method: 'PATCH',
    url: '/api/spaces/home/pages/a%20b',
    match: '"abc"',
    body: '{"body":"x","fields":{"due_date":null}}',
  });
});
