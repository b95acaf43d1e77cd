import { expect, test } from 'vitest';
import type { PersonaEvent } from '@onyx/sdk';
import { BLANK, ended, withEvent } from '../src/pages/agents/persona/outputs';

const play = (...events: PersonaEvent[]) => events.reduce(withEvent, BLANK);
const delta = (content: string): PersonaEvent => ({ type: 'text_delta', content });
const whole = (content: string): PersonaEvent => ({ type: 'text_complete', id: 'x', content });
const label = {
  verb: { plain: 'Read', wants: '', doing: '', did: '', refused: '', failed: '' },
  subject: 'a.md',
};
const call: PersonaEvent = {
  type: 'tool_call',
  id: 't',
  toolUseId: 'u',
  toolName: 'read_file',
  input: { path: 'a.md' },
  label,
};

test('words grow, are whole once, and the next ones stand by themselves', () => {
  expect(play(delta('Five'), delta('teen')).parts).toMatchObject([{ kind: 'text', text: 'Fiveteen' }]);
  expect(play(delta('Five'), delta('teen'), whole('Fifteen.'), delta('Yes')).parts).toMatchObject([
    { text: 'Fifteen.' },
    { text: 'Yes' },
  ]);
});

test('steps stand together with what came of them', () => {
  const { parts } = play(delta('Look'), call, {
    type: 'tool_result',
    id: 'r',
    toolUseId: 'u',
    output: 'gone',
    isError: true,
    report: { state: 'failed' },
  });
  expect(parts[1]).toEqual({
    kind: 'tools',
    steps: [
      {
        toolUseId: 'u',
        tool: 'read_file',
        input: { path: 'a.md' },
        label,
        output: 'gone',
        ok: false,
        report: { state: 'failed' },
      },
    ],
  });
});

test('it ends once: done, failed, stopped or broken off', () => {
  expect(play(delta('x'), { type: 'done' }).state).toBe('done');
  expect(play({ type: 'error', message: 'no model' }, { type: 'done' })).toMatchObject({
    state: 'failed',
    fault: { message: 'no model' },
  });
  expect(ended(play(delta('x')), { stopped: true }).state).toBe('stopped');
  expect(ended(play({ type: 'done' }), { stopped: true }).state).toBe('done');
  const fault = { code: 'interrupted', message: 'broke off', hint: '' };
  expect(ended(play(delta('x')), { fault })).toMatchObject({ state: 'failed', fault, parts: [{ text: 'x' }] });
});
