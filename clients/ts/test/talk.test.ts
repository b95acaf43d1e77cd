import { afterAll, beforeAll, expect, test } from 'vitest';
import { Onyx, OnyxError, type ChatChunk, type RagContext } from '@onyx/sdk';
import { stage, TOKEN, type Answer, type Stage } from '../../../web/e2e/stage';

const AGENTS = [
  { id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'act' },
  { id: 'careful', name: 'Careful', model: 'mine/some-model', tier: 'suggest' },
];
const call = (name: string, input: object): Answer => ({ calls: [{ id: 'a', name, input }] });

let at: Stage;
let onyx: Onyx;

beforeAll(async () => {
  at = await stage([], { agents: AGENTS, files: { 'people/owner/vault/plan.md': 'Drive up after lunch\n' } });
  onyx = new Onyx({ baseUrl: at.url, token: TOKEN });
});
afterAll(() => at.end());

test('a draft is told in the stream, approved, and done', async () => {
  await at.script([call('edit_file', { path: 'plan.md', old: 'after lunch', new: 'at 9:30' }), { text: 'Proposed.' }]);
  const told: ChatChunk[] = [];
  for await (const chunk of onyx.chat.stream({ message: 'change the plan', agent: 'careful' })) told.push(chunk);
  expect(told.map(({ type }) => type)).toEqual(['draft', 'chunk', 'done']);
  const [draft] = told;
  if (draft?.type !== 'draft') throw new Error('no draft');
  expect(draft).toMatchObject({ tool: 'edit_file', asksFor: 'approval' });
  const { drafts } = await onyx.drafts.list({ state: 'pending', session: draft.sessionId });
  expect(drafts.map(({ id }) => id)).toEqual([draft.draftId]);
  const approved = await onyx.drafts.approve(draft.draftId, { planHash: drafts[0]?.planHash });
  expect(approved.state).toBe('applied');
  expect((await onyx.memory.read('vault/plan.md')).text).toBe('Drive up at 9:30\n');
  await expect(onyx.drafts.reject(draft.draftId)).rejects.toMatchObject({ code: 'draft_decided', status: 409 });
  expect((await onyx.runs.changes(draft.runId)).paths).toEqual(['vault/plan.md']);
});

test('a question waits in the stream until it is answered, and the answer goes on', async () => {
  await at.script([call('ask_person', { question: 'Oak or larch?' }), { text: 'Larch it is.' }]);
  let text = '';
  for await (const chunk of onyx.chat.stream({ message: 'order the floor' })) {
    if (chunk.type === 'confirm') {
      expect(chunk.asksFor).toBe('answer');
      await onyx.drafts.approve(chunk.draftId, { reason: 'larch' });
    } else if (chunk.type === 'chunk') text += chunk.text;
  }
  expect(text).toBe('Larch it is.');
});

test('a model answers messages that the caller keeps, with evidence, and nothing is stored', async () => {
  await at.script([], { text: ['Lar', 'ch.'] });
  const before = (await onyx.sessions.list()).sessions.length;
  const ragContext: RagContext = [
    {
      sourceId: 's1',
      chunkId: 'c1',
      text: 'Larch: 3.4 kN.',
      score: 0.9,
      sourceName: 'Woods',
      matchType: 'hybrid',
      scopeType: 'workspace',
    },
  ];
  let text = '';
  let end: unknown;
  const messages = [{ role: 'user' as const, content: 'Which wood?' }];
  for await (const chunk of onyx.chat.stream({ messages, systemPrompt: 'Be short.', ragContext, maxTokens: 50 })) {
    if (chunk.type === 'chunk') text += chunk.text;
    else end = chunk;
  }
  expect(text).toBe('Larch.');
  expect(end).toEqual({
    type: 'done',
    finishReason: 'stop',
    usage: { inputTokens: 1200, outputTokens: 300, totalTokens: 1500 },
  });
  expect((await onyx.sessions.list()).sessions).toHaveLength(before);
  const requests = JSON.stringify(await (await fetch(at.model.replace(/\/v1$/, '/_requests'))).json());
  expect(requests).toContain('Larch: 3.4 kN.');
  expect(requests).toContain('Be short.');
});

test('what a refusing provider says is an error with its code, before and within a stream', async () => {
  await at.script([], { refused: 401 });
  const all = async () => {
    for await (const _ of onyx.chat.stream({ messages: [{ role: 'user', content: 'hi' }] }));
  };
  await expect(all()).rejects.toMatchObject({ code: 'provider_auth', requestId: expect.stringMatching(/.+/) });
  const talk = async () => {
    for await (const _ of onyx.chat.stream({ message: 'hi' }));
  };
  await expect(talk()).rejects.toMatchObject({ code: 'provider_auth', details: { runId: expect.any(String) } });
});

test('a whole answer at once, its history, a fresh session', async () => {
  await at.script([], { text: 'Good morning.' });
  const reply = await onyx.chat.send({ message: 'hello' });
  expect(reply).toMatchObject({ message: 'Good morning.', tools: [], drafts: [] });
  const { messages } = await onyx.chat.history(reply.sessionId);
  expect(messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'hello'],
    ['assistant', 'Good morning.'],
  ]);
  const fresh = await onyx.chat.clear(reply.sessionId);
  expect(fresh).not.toBe(reply.sessionId);
  expect((await onyx.sessions.get(reply.sessionId)).status).toBe('archived');
  expect(await onyx.chat.stop({ sessionId: fresh })).toBe(false);
});

/** A `fetch` whose connection breaks after `pieces` of the answer at a path, whatever the server sends later. */
function breaking(path: string, pieces: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).endsWith(path) || !response.body) return response;
    let count = 0;
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) =>
        (count += 1) > pieces ? controller.error(new Error('cut')) : controller.enqueue(chunk),
    });
    return new Response(response.body.pipeThrough(cut), { status: response.status, headers: response.headers });
  };
}

test('a stream that is cut after its run has ended is read to its end, once', async () => {
  await at.script([], { text: ['one, ', 'two, ', 'three.'] });
  // The rest is held back until the run is over, and then the connection breaks, so the server has nothing left to
  // stop.
  const late: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).endsWith('/chat-stream')) return response;
    const whole = await response.text();
    const half = whole.slice(0, whole.indexOf('one, ') + 20);
    let given = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (given) return controller.error(new Error('cut'));
        given = true;
        controller.enqueue(new TextEncoder().encode(half));
      },
    });
    return new Response(body, { status: 200 });
  };
  const told: ChatChunk[] = [];
  const client = new Onyx({ baseUrl: at.url, token: TOKEN, fetch: late });
  for await (const chunk of client.chat.stream({ message: 'count' })) told.push(chunk);
  expect(told.map((chunk) => (chunk.type === 'chunk' ? chunk.text : '')).join('')).toBe('one, two, three.');
  expect(told.at(-1)).toMatchObject({ type: 'done', finishReason: 'done' });
});

test('a stream that is cut while its run works never looks whole', async () => {
  // The run ends with the connection, long before the end of its answer.
  await at.script([], { text: Array.from({ length: 500 }, (_, index) => `${index} `), delayMs: 20 });
  const client = new Onyx({ baseUrl: at.url, token: TOKEN, fetch: breaking('/chat-stream', 4) });
  const read = async () => {
    for await (const _ of client.chat.stream({ message: 'count' }));
  };
  const error = (await read().catch((caught: unknown) => caught)) as OnyxError;
  expect(error).toBeInstanceOf(OnyxError);
  expect(error).toMatchObject({ code: 'interrupted', details: { runId: expect.any(String) } });
});
