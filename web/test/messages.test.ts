import { describe, expect, test } from 'vitest';
import type { CallLabel, CallReport, RunEvent, Turn } from '@onyx/sdk';
import { applyEvent, startLive } from '../src/store/liveRun';
import { fromTurns } from '../src/store/loggedMessages';
import { answerText, type Answer, type Message } from '../src/store/messages';

const base = (id: string, author: string) => ({
  id,
  ts: '2026-11-15T10:00:00Z',
  runId: 'r1',
  lane: 0,
  author,
  origin: 'agent' as const,
});
const USAGE = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0 };

const LABEL: CallLabel = {
  verb: {
    plain: 'Read',
    wants: 'Wants to read',
    doing: 'Reading',
    did: 'Read',
    refused: 'Was not allowed to read',
    failed: 'Could not read',
  },
  subject: 'x.md',
};
const DONE: CallReport = { state: 'done', effect: 'read' };

const LOG: Turn[] = [
  { ...base('t0', 'system'), type: 'run_start', agents: ['main'], model: 'mine/m' },
  { ...base('t1', 'person:owner'), type: 'user', content: 'hi' },
  { ...base('t2', 'agent:main'), type: 'assistant_text', content: 'Let me look.', status: 'complete', model: 'mine/m' },
  {
    ...base('t3', 'agent:main'),
    type: 'tool_call',
    toolUseId: 'a',
    toolName: 'read_file',
    input: { path: 'x.md' },
    label: LABEL,
  },
  {
    ...base('t4', 'agent:main'),
    type: 'tool_result',
    toolUseId: 'a',
    output: 'text',
    isError: false,
    durationMs: 4,
    report: DONE,
  },
  { ...base('t5', 'agent:main'), type: 'assistant_text', content: 'Done.', status: 'complete', model: 'mine/m' },
  { ...base('t6', 'system'), type: 'run_end', status: 'done', usage: USAGE },
];

describe('a log as messages', () => {
  test('an answer holds its texts and steps in order', () => {
    const [words, answer] = fromTurns(LOG);
    expect(words).toMatchObject({ kind: 'words', id: 't1', content: 'hi', state: 'stored' });
    expect(answer).toMatchObject({
      kind: 'answer',
      agent: 'main',
      state: 'done',
      asked: 't1',
      usage: USAGE,
      parts: [
        { kind: 'text', text: 'Let me look.' },
        {
          kind: 'tools',
          steps: [{ toolUseId: 'a', label: LABEL, ok: true, output: 'text', durationMs: 4, report: DONE }],
        },
        { kind: 'text', text: 'Done.' },
      ],
    });
    expect(answerText(answer as Answer)).toBe('Let me look.\n\nDone.');
  });

  test('the answer of a run that is told live is left to it', () => {
    expect(fromTurns(LOG, 'r1').map((message) => message.kind)).toEqual(['words']);
  });

  test('words in the middle of a run part its answer', () => {
    const steered: Turn[] = [
      ...LOG.slice(0, 5),
      { ...base('t9', 'person:owner'), type: 'user', content: 'left' },
      ...LOG.slice(5),
    ];
    const kinds = fromTurns(steered).map((message) => (message.kind === 'answer' ? message.asked : message.kind));
    expect(kinds).toEqual(['words', 't1', 'words', 't9']);
    expect(fromTurns(steered).every((message) => message.kind !== 'answer' || message.state === 'done')).toBe(true);
  });

  test('a run that failed before it said anything still shows why', () => {
    const error = { code: 'provider_auth', message: 'No.', hint: 'Check.' };
    const failed: Turn[] = [
      ...LOG.slice(0, 2),
      { ...base('t6', 'system'), type: 'run_end', status: 'error', usage: USAGE, error },
    ];
    expect(fromTurns(failed)[1]).toMatchObject({ kind: 'answer', state: 'error', error, parts: [] });
  });

  test('what a run read from outside and who answered in its place is said of it once, unless it was heard better', () => {
    const read = (turn: Turn) => ({ ...turn, origin: 'agent_tainted' as const });
    const log = LOG.map((turn) =>
      turn.type === 'assistant_text'
        ? { ...read(turn), model: 'mine/other' }
        : turn.type === 'tool_call'
          ? read(turn)
          : turn,
    );
    const notes = (message: Message | undefined) =>
      (message as Answer).parts.filter((part) => part.kind === 'note').map(({ code, text }) => [code, text]);
    expect(notes(fromTurns(log)[1])).toEqual([
      ['fallback', 'mine/other answered instead of mine/m.'],
      ['tainted', 'This run has read content from outside.'],
    ]);
    const heard = {
      kind: 'note' as const,
      code: 'fallback',
      text: 'mine/m: The provider is overloaded. mine/other answers instead.',
    };
    expect(notes(fromTurns(log, undefined, { 'r1:main:0': [heard] })[1])).toEqual([
      ['tainted', 'This run has read content from outside.'],
      ['fallback', heard.text],
    ]);
    const auto = log.map((turn) => (turn.type === 'run_start' ? { ...turn, model: 'auto' } : turn));
    expect(notes(fromTurns(auto)[1]).map(([code]) => code)).toEqual(['tainted']);
    expect(notes(fromTurns(LOG)[1])).toEqual([]);
  });

  test('what was put beside a message is what its answer may cite', () => {
    const piece = { scope: 'person', source: 'vault/cabin.md', startLine: 12, endLine: 40, tokens: 9, text: 'x' };
    const memory = { scope: 'agent', source: 'MEMORY.md', tokens: 9, text: 'x' };
    const log = LOG.map((turn) => (turn.type === 'user' ? { ...turn, pieces: [piece, memory] } : turn));
    expect((fromTurns(log)[1] as Answer).context).toEqual([
      { source: 'vault/cabin.md', startLine: 12, endLine: 40 },
      { source: 'MEMORY.md', startLine: 1, endLine: 1 },
    ]);
    expect((fromTurns(LOG)[1] as Answer).context).toBeUndefined();
  });

  test('a page that ends inside a run that is over is not at work', () => {
    expect(fromTurns(LOG.slice(0, 3))[1]).toMatchObject({ state: 'interrupted' });
  });
});

describe('several agents', () => {
  const lane = (id: string, agent: string, at: number) => ({
    ...base(id, `agent:${agent}`),
    lane: at,
    type: 'assistant_text' as const,
    content: `${agent} says`,
    status: 'complete' as const,
    model: 'mine/m',
  });
  const log: Turn[] = [
    LOG[0] as Turn,
    LOG[1] as Turn,
    lane('t2', 'main', 0),
    lane('t3', 'optimist', 1),
    LOG[6] as Turn,
  ];

  test('each has an answer of its own, and the usage stands once', () => {
    const answers = fromTurns(log).filter((message) => message.kind === 'answer') as Answer[];
    expect(answers.map(({ agent, usage }) => [agent, usage])).toEqual([
      ['main', undefined],
      ['optimist', USAGE],
    ]);
  });

  test('told live they are the same', () => {
    const tell: [string, RunEvent][] = [
      ['main', { type: 'start', agents: ['main', 'optimist'], model: 'mine/m' }],
      ['main', { type: 'delta', turnId: 't2', text: 'main says' }],
      ['optimist', { type: 'delta', turnId: 't3', text: 'optimist says' }],
      ['optimist', { type: 'done', status: 'done', assistantTurnIds: ['t2', 't3'], usage: USAGE }],
    ];
    const live = tell.reduce(
      (state, [agent, event], index) => applyEvent(state, index + 1, agent, event),
      startLive('r1'),
    );
    const stored = fromTurns(log).filter((message) => message.kind === 'answer') as Answer[];
    expect(live.answers.map(({ id, agent, state, usage }) => ({ id, agent, state, usage }))).toEqual(
      stored.map(({ id, agent, state, usage }) => ({ id, agent, state, usage })),
    );
  });
});

describe('a run told live', () => {
  const events: RunEvent[] = [
    { type: 'start', agents: ['main'], model: 'mine/m' },
    { type: 'delta', turnId: 't2', text: 'Let me ' },
    { type: 'delta', turnId: 't2', text: 'look.' },
    {
      type: 'tool_call',
      turnId: 't3',
      toolUseId: 'a',
      tool: 'read_file',
      input: { path: 'x.md' },
      summary: 'Read x.md',
      label: LABEL,
    },
    { type: 'tool_output', toolUseId: 'a', chunk: 'te' },
    {
      type: 'tool_result',
      turnId: 't4',
      toolUseId: 'a',
      tool: 'read_file',
      ok: true,
      output: 'text',
      summary: 'Read x.md',
      durationMs: 4,
      report: DONE,
    },
    { type: 'delta', turnId: 't5', text: 'Done.' },
    { type: 'done', status: 'done', assistantTurnIds: ['t2', 't5'], usage: USAGE },
  ];
  const play = (order: [number, RunEvent][]) =>
    order.reduce((live, [seq, event]) => applyEvent(live, seq, 'main', event), startLive('r1'));
  const numbered = events.map((event, index) => [index + 1, event] as [number, RunEvent]);

  test('shows what the log will show', () => {
    const live = play(numbered);
    const stored = fromTurns(LOG)[1] as Answer;
    expect(answerText(live.answers[0] as Answer)).toBe(answerText(stored));
    expect(live.answers[0]).toMatchObject({ state: 'done', parts: stored.parts.map(({ kind }) => ({ kind })) });
    expect(live.ended).toBe('done');
  });

  test('events that come again change nothing', () => {
    const doubled = numbered.flatMap((entry, index) =>
      index > 1 ? [entry, numbered[index - 1] ?? entry, entry] : [entry],
    );
    expect(play(doubled)).toEqual(play(numbered));
  });

  test('parts that did not change keep their identity', () => {
    const before = play(numbered.slice(0, 6));
    const after = applyEvent(before, 7, 'main', events[6] as RunEvent);
    expect(after.answers[0]?.parts[0]).toBe(before.answers[0]?.parts[0]);
    expect(after.answers[0]?.parts[1]).toBe(before.answers[0]?.parts[1]);
  });
});
