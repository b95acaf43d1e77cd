// The app shows the server's texts and never interprets them: with other texts it builds the same page.

import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import type {
  AuditRow,
  Dependency,
  DiffLine,
  DocumentPreview,
  MemoryHit,
  RunEvent,
  ThreadMessage,
  Turn,
} from '@onyx/sdk';
import { changedLines, describe as described, stateOf } from '../src/chat/describe';
import { DraftDocument } from '../src/chat/drafts/DraftDocument';
import { ToolRows } from '../src/chat/ToolRows';
import { passageOfFact, passageOfHit } from '../src/pages/memory/passages';
import { AuditLine } from '../src/pages/system/AuditLine';
import { kindOf } from '../src/pages/system/dependencies';
import { applyEvent, startLive } from '../src/store/liveRun';
import { fromTurns } from '../src/store/loggedMessages';
import type { Answer, Message, ToolStep } from '../src/store/messages';
import { waitingOf } from '../src/store/waiting';
import { EVENTS } from './recorded';
import { TURNS } from './recorded-turns';

/** The fields with text for people. All other fields are names or numbers of the wire format. */
const WORDS = new Set(
  'summary subject message hint output chunk content plain wants doing did refused failed text unified sentence label tool toolName detail'.split(
    ' ',
  ),
);

/** Further text fields of answers that are neither turns nor events. For the app an id is such a text too. */
const MORE_WORDS = new Set([
  ...WORDS,
  ...'title heading name path before after author diffSummary shortSummary id question'.split(' '),
]);

/** A random number generator with a fixed seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz:/<>[]+-−0123456789@#$ ';

/** The value with its texts replaced, and the replacements. */
function scrambled<T>(value: T, seed: number, names: ReadonlySet<string> = WORDS): { value: T; words: string[] } {
  const next = random(seed);
  const words: string[] = [];
  const word = () => {
    const length = 3 + Math.floor(next() * 18);
    const letters = Array.from({ length }, () => LETTERS[Math.floor(next() * LETTERS.length)]).join('');
    words.push(letters);
    return letters;
  };
  // Equal texts get equal replacements, so that references between them still work.
  const known = new Map<string, string>();
  const replaced = (inner: string) => {
    const other = known.get(inner) ?? word();
    known.set(inner, other);
    return other;
  };
  const change = (inner: unknown, name?: string): unknown => {
    if (typeof inner === 'string') return name !== undefined && names.has(name) ? replaced(inner) : inner;
    if (Array.isArray(inner)) return inner.map((item) => change(item, name));
    if (inner === null || typeof inner !== 'object') return inner;
    return Object.fromEntries(Object.entries(inner).map(([key, held]) => [key, change(held, key)]));
  };
  return { value: change(value) as T, words };
}

/** Everything that the app makes of messages, except their texts. */
function structure(messages: Message[]): unknown {
  const step = (one: ToolStep) => ({
    id: one.toolUseId,
    state: stateOf(one),
    lines: changedLines(one) && [changedLines(one)?.added, changedLines(one)?.removed],
    hasDiff: one.label.change != null,
    target: one.label.target?.kind,
    effect: one.report?.effect,
    verdict: one.report?.rehearsal?.verdict,
    draftId: one.draftId,
  });
  return messages.map((message) =>
    message.kind === 'answer'
      ? {
          id: message.id,
          state: message.state,
          asked: message.asked,
          cites: message.context?.map(({ startLine, endLine }) => [startLine, endLine]),
          fault: message.error?.code,
          parts: message.parts.map((part) =>
            part.kind === 'tools'
              ? part.steps.map(step)
              : part.kind === 'note'
                ? [part.kind, part.code]
                : part.kind === 'draft'
                  ? [part.kind, part.draftId]
                  : [part.kind, part.turnId],
          ),
        }
      : [message.kind, message.id],
  );
}

const live = (events: RunEvent[]): Answer[] =>
  events.reduce((run, event, index) => applyEvent(run, index + 1, 'main', event), startLive('r1')).answers;

const stepsOf = (messages: Message[]) =>
  messages.flatMap((message) =>
    message.kind === 'answer' ? message.parts.flatMap((part) => (part.kind === 'tools' ? part.steps : [])) : [],
  );

describe('with other words of the server', () => {
  test.each(Array.from({ length: 50 }, (_, seed) => seed))('the same is made of a log and of events (%i)', (seed) => {
    expect(structure(fromTurns(scrambled<Turn[]>(TURNS, seed).value))).toEqual(structure(fromTurns(TURNS)));
    expect(structure(live(scrambled<RunEvent[]>(EVENTS, seed).value))).toEqual(structure(live(EVENTS)));
  });

  test('a step is shown in the words that came with it, by its state', () => {
    const turns = scrambled<Turn[]>(TURNS, 7).value;
    const steps = stepsOf(fromTurns(turns));
    expect(steps.length).toBeGreaterThan(3);
    for (const step of steps) {
      const { verb, what } = described(step, stateOf(step));
      const html = renderToStaticMarkup(<ToolRows steps={[step]} live />);
      for (const said of [verb, what]) expect(html).toContain(escaped(said));
      const own = [...Object.values(step.label.verb), '$'];
      expect(own).toContain(verb);
    }
  });
});

/** The elements of a page with their styles, without any text. */
const shape = (html: string) =>
  html
    .replace(/>[^<]*/g, '>')
    .replace(/ (aria-label|title|class|href)="([^"]*)"/g, (_, name: string, value: string) =>
      name === 'class' ? ` class="${value}"` : '',
    );

const SEEDS = Array.from({ length: 20 }, (_, seed) => seed);

describe('with other words in the other answers of the server', () => {
  const lines: DiffLine[] = [
    { kind: 'file', text: '--- spaces/home/tasks/floor.md' },
    { kind: 'hunk', text: '@@ -1,4 +1,4 @@' },
    { kind: 'same', text: 'title: Floor' },
    { kind: 'removed', text: 'status: todo' },
    { kind: 'added', text: 'status: doing' },
  ];
  const document: DocumentPreview = {
    kind: 'task',
    isNew: false,
    title: 'Floor',
    fields: [
      { name: 'status', label: 'Status', before: 'todo', after: 'doing' },
      { name: 'owner', label: 'Owner', before: 'Anna' },
    ],
    body: [
      { kind: 'same', text: 'Two mills.' },
      { kind: 'added', text: '--- as they say' },
    ],
  };

  test.each(SEEDS)('a draft has the same fields and lines (%i)', (seed) => {
    const draw = (change: typeof document, of: DiffLine[]) =>
      renderToStaticMarkup(<DraftDocument document={change} path="a.md" lines={of} />);
    const other = scrambled({ document, lines }, seed, MORE_WORDS).value;
    const html = draw(other.document, other.lines);
    expect(shape(html)).toBe(shape(draw(document, lines)));
    const { title, fields, body } = other.document;
    const shown = [
      title ?? '',
      ...fields.flatMap(({ label, before }) => [label, before ?? '']),
      ...body.map((line) => line.text),
    ];
    for (const said of [...shown, ...other.lines.map(({ text }) => text)]) expect(html).toContain(escaped(said));
  });

  const messages: ThreadMessage[] = [
    ['q1', 'user', 'person', undefined, 'complete'],
    ['q1.main', 'assistant', 'main', 'q1', 'complete'],
    ['q2', 'user', 'person', undefined, 'complete'],
    ['q2.main', 'assistant', 'main', 'q2', 'streaming'],
    ['q2.scout', 'assistant', 'scout', 'q2', 'streaming'],
  ].map(([id, role, author, question, status]) => ({
    id,
    role,
    author,
    question,
    status,
    content: '',
    createdAt: '2026-11-15T10:00:00Z',
    metadata: { tools: [], draftIds: [], model: null, usage: null },
  })) as ThreadMessage[];

  test.each(SEEDS)('the same messages wait for the same answers (%i)', (seed) => {
    const other = scrambled(messages, seed, MORE_WORDS).value;
    const [, , asked, first, second] = other;
    expect(waitingOf('t', other, new Set())).toMatchObject([
      {
        key: asked?.id,
        thread: {
          answering: [
            { id: first?.id, agent: first?.author },
            { id: second?.id, agent: second?.author },
          ],
        },
      },
    ]);
  });

  test.each(SEEDS)('a dependency leads to the same page (%i)', (seed) => {
    const dependency: Dependency = {
      name: 'mcp:files',
      kind: 'mcp',
      instance: 'files',
      state: 'degraded',
      detail: 'it fell',
    };
    const other = scrambled(dependency, seed, MORE_WORDS).value;
    expect(kindOf(other)).toEqual({ label: 'MCP server files', to: '/tools', action: 'Open MCP servers' });
  });

  test.each(SEEDS)('a row of the audit is shown in its own words (%i)', (seed) => {
    const row: AuditRow = {
      person: 'owner',
      seq: 1,
      ts: '2026-11-15T10:00:00Z',
      actorKind: 'person',
      actor: 'owner',
      agent: null,
      sessionId: null,
      runId: null,
      tool: null,
      effect: null,
      decision: 'allow',
      diffSummary: `accepted ${'ab'.repeat(32)}`,
      shortSummary: 'accepted abababababab…',
      result: 'ok',
      previous: 'cd'.repeat(32),
      hash: 'ef'.repeat(32),
    };
    const other = scrambled(row, seed, MORE_WORDS).value;
    const html = renderToStaticMarkup(<AuditLine row={other} />);
    expect(html).toContain(`>${escaped(other.shortSummary)}<`);
    expect(shape(html)).toBe(shape(renderToStaticMarkup(<AuditLine row={row} />)));
  });

  test.each(SEEDS)('facts and hits of a conversation lead to its message (%i)', (seed) => {
    const fact = {
      path: 'sessions/s1/r1',
      title: 'Walks',
      line: 3,
      text: 'Bob lives in Bonn.',
      origin: 'person' as const,
      saidAt: '2026-11-15T10:00:00Z',
      foundBy: 'rules',
      sessionId: 's1',
      turn: 't1',
    };
    const hit = {
      path: 'sessions/s1/r1',
      title: 'Walks',
      startLine: 3,
      endLine: 3,
      session: 's1',
      turn: 't1',
    } as MemoryHit;
    const other = scrambled({ fact, hit }, seed, MORE_WORDS).value;
    expect(passageOfFact(other.fact)).toEqual({ session: 's1', turn: 't1' });
    expect(passageOfHit(other.hit)).toEqual({ session: 's1', turn: 't1' });
    const { session: _, ...file } = other.hit;
    expect(passageOfHit(file as MemoryHit)).toEqual({ path: other.hit.path, line: 3, last: 3 });
  });
});

test('every state of a step has its own words', () => {
  const [step] = stepsOf(fromTurns(TURNS.filter((turn) => turn.type !== 'tool_result')));
  if (!step) throw new Error('no step');
  const said = (over: Partial<ToolStep>, draft?: { state: 'pending' | 'applied' | 'rejected' }) => {
    const one = { ...step, ...over };
    return described(one, stateOf(one, draft)).verb;
  };
  const { verb } = step.label;
  expect(said({})).toBe(verb.doing);
  expect(said({}, { state: 'pending' })).toBe(verb.wants);
  expect(said({ report: { state: 'done' } })).toBe(verb.did);
  expect(said({ report: { state: 'failed' } })).toBe(verb.failed);
  expect(said({ report: { state: 'refused' } })).toBe(verb.refused);
  expect(said({ report: { state: 'waiting' } }, { state: 'applied' })).toBe(verb.did);
  expect(said({ report: { state: 'waiting' } }, { state: 'rejected' })).toBe(verb.refused);
  expect(said({ report: { state: 'rehearsed' } })).toBe(verb.plain);
});

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
