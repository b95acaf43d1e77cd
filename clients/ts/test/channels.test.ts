import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Onyx } from '@onyx/sdk';

// The events as surfaces.md defines them. The stream of an import is cut after its first event.
const PROGRESS = [
  { event: 'progress', data: { state: 'importing', done: 1, failed: 0, total: 3, current: 'a.md' } },
  { event: 'done', data: { state: 'partial', done: 3, failed: 1, total: 3 } },
];
const asked: string[] = [];
let streams = 0;
let server: Server;
let onyx: Onyx;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      asked.push([request.method, request.url, body].filter(Boolean).join(' '));
      if (request.url?.endsWith('/events')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const { event, data } = PROGRESS[Math.min(streams++, 1)]!;
        return response.end(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      }
      if (request.method === 'DELETE') return response.writeHead(204).end();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({
          id: 'x',
          createdAt: '2026-11-15T10:00:00Z',
          channels: [{ id: 'launch' }],
          threads: [],
          coworkers: [{ agent: 'main', primary: true }],
          sources: [],
          pieces: [],
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onyx = new Onyx({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'onyx_sk_x' });
});
beforeEach(() => void asked.splice(0));
afterAll(() => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))));

test('channels, their coworkers and threads are asked for as the surface has them', async () => {
  expect(await onyx.channels.list({ space: 'home' })).toEqual([{ id: 'launch' }]);
  await onyx.channels.create({ space: 'home', name: 'a b', purpose: 'x' });
  await onyx.channels.update('launch', { purpose: 'y' });
  expect(await onyx.channels.assign('launch', { agent: 'main', primary: true })).toEqual([
    { agent: 'main', primary: true },
  ]);
  await onyx.channels.setPrimary('launch', 'main');
  await onyx.channels.dismiss('launch', 'main');
  await onyx.channels.remove('launch');
  await onyx.threads.list({ channel: 'launch' });
  expect(await onyx.threads.create({ channel: 'launch', title: 'T' })).toMatchObject({
    createdAt: '2026-11-15T10:00:00Z',
  });
  await onyx.threads.rename('t1', 'U');
  await onyx.threads.context('t1', 'a & b');
  await onyx.threads.remove('t1');
  expect(asked).toEqual([
    'GET /api/channels?space=home',
    'POST /api/channels {"space":"home","name":"a b","purpose":"x"}',
    'PATCH /api/channels/launch {"purpose":"y"}',
    'POST /api/channels/launch/coworkers {"agent":"main","primary":true}',
    'PATCH /api/channels/launch/coworkers/main {"primary":true}',
    'DELETE /api/channels/launch/coworkers/main',
    'DELETE /api/channels/launch',
    'GET /api/threads?channel=launch',
    'POST /api/threads {"channel":"launch","title":"T"}',
    'PATCH /api/threads/t1 {"title":"U"}',
    'GET /api/threads/t1/context?q=a+%26+b',
    'DELETE /api/threads/t1',
  ]);
});

test('a source is added, followed to its end across a lost stream, looked at again and removed', async () => {
  await onyx.sources.add({
    scope: { type: 'channel', id: 'launch', space: 'home' },
    kind: 'file',
    name: 'a.pdf',
    mediaType: 'application/pdf',
    data: 'QQ==',
  });
  const told = [];
  for await (const progress of onyx.sources.events('s1')) told.push([progress.state, progress.done, progress.failed]);
  expect(told).toEqual([
    ['importing', 1, 0],
    ['partial', 3, 1],
  ]);
  await onyx.sources.sync('s1');
  await onyx.sources.remove('s1');
  expect(asked).toEqual([
    'POST /api/sources {"scope":{"type":"channel","id":"launch","space":"home"},"kind":"file","name":"a.pdf","data":"QQ==","media_type":"application/pdf"}',
    'GET /api/sources/s1/events',
    'GET /api/sources/s1/events',
    'POST /api/sources/s1 {}',
    'DELETE /api/sources/s1',
  ]);
});
