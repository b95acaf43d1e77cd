// Turns the events of an active run into the answers that people see. Pure.

import type { RunEvent, RunStatus } from '@onyx/sdk';
import { answerId, type Answer, type Note, type Notes, type Part, type ToolStep } from './messages';

/** An active run: one answer for each agent in it. */
export interface Live {
  runId: string;
  seq: number;
  answers: Answer[];
  /** The agents that were asked, whether or not they have spoken. */
  agents?: string[];
  model?: string;
  /** The newest line about activity besides the answer. */
  status?: string;
  ended?: RunStatus;
}

export function startLive(runId: string): Live {
  return { runId, seq: 0, answers: [] };
}

/** The live run after an event; parts that did not change keep their identity. */
export function applyEvent(live: Live, seq: number, agent: string | undefined, event: RunEvent): Live {
  if (seq <= live.seq) return live;
  const next: Live = { ...live, seq };
  switch (event.type) {
    case 'start':
      next.model = event.model;
      next.agents = event.agents;
      next.answers = event.agents.slice(0, 1).map((id) => blank(live.runId, id, event.model));
      return next;
    case 'delta':
    case 'reasoning':
      return withAnswer(next, agent, (parts) =>
        appendText(parts, event.type === 'delta' ? 'text' : 'reasoning', event),
      );
    case 'tool_call': {
      const { toolUseId, tool, input, label } = event;
      return withAnswer(next, agent, (parts) => appendStep(parts, { toolUseId, tool, input, label }));
    }
    case 'tool_output':
      return withAnswer(next, agent, (parts) =>
        changeStep(parts, event.toolUseId, (step) => ({ ...step, output: (step.output ?? '') + event.chunk })),
      );
    case 'tool_result': {
      const { ok, output, report, durationMs } = event;
      return withAnswer(next, agent, (parts) =>
        changeStep(parts, event.toolUseId, (step) => ({ ...step, ok, output, report, durationMs })),
      );
    }
    case 'draft':
    case 'confirm':
      return withAnswer(next, agent, (parts) => [...parts, { kind: 'draft', draftId: event.draftId }]);
    case 'context':
      return mapAnswer(next, agent, (answer) => ({ ...answer, context: event.pieces }));
    case 'status':
      next.status = event.message;
      return withAnswer(next, agent, (parts) => [...parts, { kind: 'note', code: event.code, text: event.message }]);
    case 'usage':
      return mapAnswer(next, agent, (answer) => ({ ...answer, usage: event }));
    case 'error':
      // One of several agents was stopped; a run that is stopped as a whole says so at its end.
      if (event.code === 'cancelled') return mapAnswer(next, agent, (answer) => ({ ...answer, state: 'cancelled' }));
      return mapAnswer(next, agent, (answer) => ({ ...answer, error: event }));
    case 'done':
      next.ended = event.status;
      // The usage of the whole run is shown once, below the last agent that spoke.
      next.answers = next.answers.map((answer, index, all) => ({
        ...answer,
        state: answer.state === 'cancelled' ? answer.state : event.status,
        usage: index === all.length - 1 ? event.usage : undefined,
      }));
      return next;
  }
}

function blank(runId: string, agent: string, model?: string): Answer {
  return { kind: 'answer', id: answerId(runId, agent, 0), runId, agent, model, parts: [], state: 'running' };
}

/** The agents of an active run that have not spoken yet. */
export function yetToSpeak(live: Live): Answer[] {
  if (live.ended) return [];
  const spoke = new Set(live.answers.map((answer) => answer.agent));
  return (live.agents ?? []).filter((agent) => !spoke.has(agent)).map((agent) => blank(live.runId, agent, live.model));
}

function mapAnswer(live: Live, agent: string | undefined, change: (answer: Answer) => Answer): Live {
  const found = live.answers.findIndex((answer) => agent === undefined || answer.agent === agent);
  if (found < 0) return { ...live, answers: [...live.answers, change(blank(live.runId, agent ?? '', live.model))] };
  return { ...live, answers: live.answers.map((answer, index) => (index === found ? change(answer) : answer)) };
}

function withAnswer(live: Live, agent: string | undefined, change: (parts: Part[]) => Part[]): Live {
  return mapAnswer(live, agent, (answer) => ({ ...answer, parts: change(answer.parts) }));
}

function appendText(
  parts: Part[],
  kind: 'text' | 'reasoning',
  { turnId, text }: { turnId: string; text: string },
): Part[] {
  const last = parts.at(-1);
  if (last?.kind === kind && last.turnId === turnId)
    return [...parts.slice(0, -1), { ...last, text: last.text + text }];
  return [...parts, { kind, turnId, text }];
}

function appendStep(parts: Part[], step: ToolStep): Part[] {
  const last = parts.at(-1);
  if (last?.kind === 'tools') return [...parts.slice(0, -1), { ...last, steps: [...last.steps, step] }];
  return [...parts, { kind: 'tools', steps: [step] }];
}

function changeStep(parts: Part[], toolUseId: string, change: (step: ToolStep) => ToolStep): Part[] {
  return parts.map((part) =>
    part.kind === 'tools' && part.steps.some((step) => step.toolUseId === toolUseId)
      ? { ...part, steps: part.steps.map((step) => (step.toolUseId === toolUseId ? change(step) : step)) }
      : part,
  );
}

/** Notes that stay true after the run. */
const LASTING = new Set(['tainted', 'degraded', 'fallback']);

/** The notes to keep of a finished run; its log holds few of them. */
export function notesOf(live: Live): Notes {
  const kept = (answer: Answer) =>
    answer.parts.filter((part): part is Note => part.kind === 'note' && LASTING.has(part.code));
  return Object.fromEntries(
    live.answers.map((answer) => [answer.id, kept(answer)] as const).filter(([, notes]) => notes.length > 0),
  );
}
