// The server's words are shown and never read: whatever it calls things, the app makes the same of them.

import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import type { RunEvent, Turn } from '@onyx/sdk';
import { changedLines, describe as described, stateOf } from '../src/chat/describe';
import { ToolRows } from '../src/chat/ToolRows';
import { applyEvent, fromTurns, startLive, type Answer, type Message, type ToolStep } from '../src/store/messages';
import { EVENTS } from './recorded';
import { TURNS } from './recorded-turns';

/** The fields whose words people read; every other field is a name or a number of the wire. */
const WORDS = new Set(
  'summary subject message hint output chunk content plain wants doing did refused failed text unified sentence label tool toolName detail'.split(
    ' ',
  ),
);

/** A source of numbers that is the same each time. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz:/<>[]+-−0123456789@#$ ';

/** The same value with other words in it, and each word that was put there. */
function scrambled<T>(value: T, seed: number): { value: T; words: string[] } {
  const next = random(seed);
  const words: string[] = [];
  const word = () => {
    const length = 3 + Math.floor(next() * 18);
    const letters = Array.from({ length }, () => LETTERS[Math.floor(next() * LETTERS.length)]).join('');
    words.push(letters);
    return letters;
  };
  const change = (inner: unknown, name?: string): unknown => {
    if (typeof inner === 'string') return name !== undefined && WORDS.has(name) ? word() : inner;
    if (Array.isArray(inner)) return inner.map((item) => change(item, name));
    if (inner === null || typeof inner !== 'object') return inner;
    return Object.fromEntries(Object.entries(inner).map(([key, held]) => [key, change(held, key)]));
  };
  return { value: change(value) as T, words };
}

/** Everything the app makes of messages, without their words. */
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
