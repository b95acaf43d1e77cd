import { describe, expect, test } from 'vitest';
import type { ThreadMessage } from '@onyx/sdk';
import { applyEvent, startLive, type Live } from '../src/store/liveRun';
import { fromTurns } from '../src/store/loggedMessages';
import type { Answer } from '../src/store/messages';
import type { InThread, Pending } from '../src/store/state';
import { arranged, foundAgain, lastTries, waitingOf } from '../src/store/waiting';

const said = (
  key: string,
  { turnId, ...thread }: InThread & { turnId?: string },
  more: Partial<Pending> = {},
): Pending => ({
  key,
  turnId,
  sessionId: 't',
  content: key,
  request: {},
  at: '2026-11-15T10:00:00Z',
  state: 'sending',
  thread,
  ...more,
});
const live = (runId: string, agents: string[]): Live =>
  applyEvent(startLive(runId), 1, agents[0], { type: 'start', agents, model: 'm' });
const shown = (...given: Parameters<typeof arranged>) =>
  arranged(...given).map((message) =>
    message.kind === 'words'
      ? `${message.state} ${message.id}${message.promised ? ` (${message.promised})` : ''}`
      : message.kind === 'answer'
        ? `${message.state} ${message.agent}`
        : '',
  );
const NONE = new Set<string>();

describe('words said in a thread', () => {
  test('are followed at once by everybody who answers them', () => {
    expect(shown([said('a', {})], undefined, NONE)).toEqual(['sending a']);
    expect(
      shown(
        [
          said('a', {
            turnId: '1',
            answering: [
              { id: 'a1-main', agent: 'main' },
              { id: 'a1-scout', agent: 'scout' },
            ],
          }),
        ],
        undefined,
        NONE,
      ),
    ).toEqual(['stored 1', 'running main', 'running scout']);
  });

  test('stand before the answer of the run that took them, and those who have not spoken after it', () => {
    const waiting = [
      said('a', {
        turnId: '1',
        answering: [
          { id: 'a1-main', agent: 'main' },
          { id: 'a1-scout', agent: 'scout' },
        ],
      }),
      said('b', { turnId: '2', answering: [{ id: 'a2-main', agent: 'main' }] }),
    ];
    const run = applyEvent(live('r', ['main', 'scout']), 2, 'main', { type: 'delta', turnId: 'x', text: 'hi' });
    expect(shown(waiting, run, NONE)).toEqual([
      'stored 1',
      'running main',
      'running scout',
      'queued 2 (a2-main)',
      'running main',
    ]);
    // The log has the first message already, so the waiting ones do not belong to this run.
    expect(shown(waiting.slice(1), run, new Set(['r']))).toEqual([
      'running main',
      'running scout',
      'queued 2 (a2-main)',
      'running main',
    ]);
  });

  test('are not taken for the question of a second try', () => {
    const again = said('again', {}, { content: '', runId: 'r', thread: undefined });
    expect(
      shown(
        [said('b', { turnId: '2', answering: [{ id: 'a2-main', agent: 'main' }] }), again],
        live('r', ['main']),
        NONE,
      ),
    ).toEqual(['running main', 'queued 2 (a2-main)', 'running main']);
  });

  test('that nobody undertook to answer say so', () => {
    expect(shown([said('a', { turnId: '1', answering: [] })], undefined, NONE)).toEqual(['unanswered 1']);
  });

  test('a run that is over waits for nobody', () => {
    const over = applyEvent(live('r', ['main', 'scout']), 2, 'main', {
      type: 'done',
      status: 'cancelled',
      assistantTurnIds: [],
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    });
    expect(shown([], over, new Set(['r']))).toEqual(['cancelled main']);
  });
});

test('a run that was stopped before anybody spoke is said of all who were asked', () => {
  const base = { ts: '2026-11-15T10:00:00Z', runId: 'r', lane: 0, author: 'system', origin: 'agent' as const };
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const stopped = fromTurns([
    { ...base, id: '0', type: 'run_start', agents: ['scout', 'main'] },
    { ...base, id: '1', type: 'user', content: 'hi' },
    { ...base, id: '2', type: 'run_end', status: 'cancelled', usage },
  ]);
  expect(stopped.slice(1)).toMatchObject([
    { agent: 'scout', state: 'cancelled', asked: '1' },
    { agent: 'main', state: 'cancelled', asked: '1' },
  ]);
});

test('a second try stands in the place of the first, and of that coworker only', () => {
  const answer = (id: string, agent: string, state: Answer['state'], asked = 'q'): Answer => ({
    kind: 'answer',
    id,
    agent,
    parts: [],
    state,
    asked,
  });
  const tried = [
    answer('a', 'main', 'error'),
    answer('b', 'scout', 'error'),
    answer('c', 'main', 'cancelled'),
    answer('d', 'main', 'done'),
    answer('e', 'main', 'error', 'later'),
  ];
  expect(lastTries(tried).map(({ id }) => id)).toEqual(['b', 'd', 'e']);
});

const message = (id: string, content: string, more: Partial<ThreadMessage> = {}): ThreadMessage => ({
  id,
  role: 'user',
  author: 'person',
  content,
  status: 'complete',
  createdAt: '2026-11-15T10:00:00Z',
  metadata: { tools: [], draftIds: [], model: null, usage: null },
  ...more,
});

describe('after a lost connection', () => {
  const messages = [
    message('01', 'yes'),
    message('a1', '', { question: '01', role: 'assistant', author: 'main', status: 'complete' }),
    message('03', 'yes'),
    message('a3', '', { question: '03', role: 'assistant', author: 'main', status: 'streaming' }),
  ];

  test('words that arrived are found and not sent again; older ones of the same wording are not taken for them', () => {
    expect(foundAgain(messages, 'yes', '01')?.id).toBe('03');
    expect(foundAgain(messages, 'yes', '03')).toBeUndefined();
    expect(foundAgain(messages, 'no', '')).toBeUndefined();
  });

  test('what waits for its turn is read back with who answers it', () => {
    expect(waitingOf('t', messages, new Set(['01']))).toMatchObject([
      { key: '03', sessionId: 't', content: 'yes', turnId: '03', thread: { answering: [{ id: 'a3', agent: 'main' }] } },
    ]);
  });
});
