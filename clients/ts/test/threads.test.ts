import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Onyx } from '@onyx/sdk';

// The wire format of surfaces.md, from a server that cuts each stream after two events.
const EVENTS = [
  { id: '1', event: 'chat:chunk', data: { messageId: 'm1', text: 'Hel', fullContent: 'Hel' } },
  { id: '2', event: 'chat:chunk', data: { messageId: 'm1', text: 'lo', fullContent: 'Hello' } },
  { id: '3', event: 'chat:complete', data: { messageId: 'm1', content: 'Hello', status: 'complete' } },
  { id: '4', event: 'chat:error', data: { messageId: 'm2', error: 'no model' } },
];
const asked: { method: string; url: string; last?: string; body: string }[] = [];
let server: Server;
let onyx: Onyx;

function stream(response: ServerResponse, last: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const { id, event, data } of EVENTS.slice(last, last + 2))
    response.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  if (last + 2 < EVENTS.length) response.end();
}

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      const last = request.headers['last-event-id'];
      asked.push({ method: request.method ?? '', url: request.url ?? '', last: last?.toString(), body });
      if (request.url?.endsWith('/events')) return stream(response, Number(last ?? 0));
      const message = {
        id: 'm0',
        role: 'user',
        author: 'person:owner',
        content: 'hi',
        status: 'complete',
        createdAt: '2026-11-15T10:00:00Z',
      };
      const assistant = {
        ...message,
        id: 'm1',
        role: 'assistant',
        author: 'agent:main',
        content: '',
        status: 'streaming',
      };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify(
          request.url?.endsWith('/cancel') ? {} : { userMessage: message, assistantMessages: [assistant] },
        ),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onyx = new Onyx({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'onyx_sk_x' });
});
afterAll(() => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))));

test('a thread is told through one stream that is taken up where it broke off, and left when nobody listens', async () => {
  const told: unknown[] = [];
  const heard = new Promise<void>((resolve) => {
    const leave = [
      onyx.threads.onChunk('t1', (event) => told.push(event)),
      onyx.threads.onComplete('t1', (event) => told.push(event)),
      onyx.threads.onError('t1', (event) => {
        told.push(event);
        for (const stop of leave) stop();
        resolve();
      }),
    ];
  });
  await heard;
  expect(told).toEqual([
    { messageId: 'm1', text: 'Hel', fullContent: 'Hel' },
    { messageId: 'm1', text: 'lo', fullContent: 'Hello' },
    { messageId: 'm1', content: 'Hello', status: 'complete' },
    { messageId: 'm2', error: 'no model' },
  ]);
  expect(asked.filter(({ url }) => url === '/api/threads/t1/events').map(({ last }) => last)).toEqual([undefined, '2']);
});

test('words are sent and an answer is cancelled', async () => {
  const { userMessage, assistantMessages } = await onyx.threads.sendMessage('t1', 'hi');
  expect(userMessage).toMatchObject({ content: 'hi', createdAt: '2026-11-15T10:00:00Z' });
  expect(assistantMessages).toMatchObject([{ id: 'm1', status: 'streaming', author: 'agent:main' }]);
  await onyx.threads.cancelMessage('m1');
  expect(asked.slice(-2)).toMatchObject([
    { method: 'POST', url: '/api/threads/t1/messages', body: '{"content":"hi"}' },
    { method: 'POST', url: '/api/messages/m1/cancel' },
  ]);
});
