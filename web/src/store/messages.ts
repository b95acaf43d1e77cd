// Turns a session's log and the events of its active run into the messages that people see. Pure.

import {
  authorOf,
  type CallLabel,
  type CallReport,
  type ContextPiece,
  type Fault,
  type Feedback,
  type GivenPiece,
  type RunEvent,
  type RunStatus,
  type Turn,
  type Usage,
  type UserContent,
} from '@onyx/sdk';

export interface ToolStep {
  toolUseId: string;
  tool: string;
  input: unknown;
  /** The text that people read for the call. */
  label: CallLabel;
  output?: string;
  ok?: boolean;
  /** The outcome; absent while the call runs. */
  report?: CallReport;
  durationMs?: number;
  draftId?: string;
}

export type Part =
  | { kind: 'text'; turnId: string; text: string }
  | { kind: 'reasoning'; turnId: string; text: string }
  | { kind: 'tools'; steps: ToolStep[] }
  | { kind: 'draft'; draftId: string }
  | { kind: 'note'; code: string; text: string };

export interface Answer {
  kind: 'answer';
  id: string;
  runId?: string;
  agent: string;
  model?: string;
  ts?: string;
  parts: Part[];
  state: 'running' | RunStatus;
  usage?: Usage;
  error?: Fault;
  context?: Cited[];
  /** The person's rating. */
  feedback?: Feedback;
  /** The message it answers. */
  asked?: string;
  /** The newest of its turns in the log, at which a fork may start. */
  lastTurn?: string;
  /** The time at which its run ended. */
  endedAt?: string;
}

/** The place of a passage that retrieval gave with the message. */
export type Cited = Pick<ContextPiece, 'source' | 'startLine' | 'endLine'> &
  Partial<Pick<ContextPiece, 'sourceId' | 'chunkId' | 'title' | 'sessionId' | 'turn'>>;

const citedIn = (pieces: GivenPiece[] | undefined): Cited[] | undefined =>
  pieces?.map(({ source, startLine = 1, endLine = startLine, sourceId, chunkId, title, sessionId, turn }) => ({
    source,
    startLine,
    endLine,
    sourceId,
    chunkId,
    title,
    sessionId,
    turn,
  }));

export interface Words {
  kind: 'words';
  id: string;
  content: UserContent;
  ts?: string;
  runId?: string | null;
  /** `unread`: no run has read it, and none is active. */
  state: 'stored' | 'sending' | 'queued' | 'unread' | 'waiting' | 'failed' | 'unanswered';
  /** Its turn, if the server has stored it and no run has read it. */
  turnId?: string;
  fault?: Fault;
  /** The answer that was promised and has not started. */
  promised?: string;
}

export interface Divider {
  kind: 'divider';
  id: string;
  text: string;
  detail?: string;
}

export type Message = Words | Answer | Divider;

/** The same key for the live answer and the one from the log, so that the change does not redraw it. */
const idOf = (run: string, agent: string, segment: number) => `${run}:${agent}:${segment}`;

type Note = Extract<Part, { kind: 'note' }>;

/** Notes by the id of their answer. */
export type Notes = Record<string, Note[]>;

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

/** The notes that a turn of the log implies. Their reasons are not in the log. */
function marksIn(turn: Turn, asked: string | undefined): Note[] {
  const tainted: Note[] =
    turn.origin === 'agent_tainted'
      ? [{ kind: 'note', code: 'tainted', text: 'This run has read content from outside.' }]
      : [];
  // Only the first agent's model is recorded at the start; `auto` names none, so any model is expected.
  const chosen = turn.lane === 0 && asked?.includes('/') ? asked : undefined;
  const other = turn.type === 'assistant_text' && chosen !== undefined && turn.model !== chosen;
  return other
    ? [...tainted, { kind: 'note', code: 'fallback', text: `${turn.model} answered instead of ${chosen}.` }]
    : tainted;
}

/** Messages of a log, oldest first. `without` names a run whose answer is shown live instead. */
export function fromTurns(turns: Turn[], without?: string, notes: Notes = {}): Message[] {
  const messages: Message[] = [];
  let open = new Map<number, Answer>();
  let asked: string | undefined;
  let context: Cited[] | undefined;
  let begun: { id?: string | null; model?: string; agents?: string[] } = {};
  const segments = new Map<string, number>();
  // As in the live view, each note appears once for a run and agent.
  const said = new Set<string>();
  const sayOnce = ({ runId, agent, parts }: Answer, notes: Note[]) => {
    for (const note of notes) {
      const key = `${runId}:${agent}:${note.code}`;
      if (!said.has(key)) parts.unshift(note);
      said.add(key);
    }
  };
  const answerOf = (turn: Turn): Answer => {
    const known = open.get(turn.lane) ?? begin(turn);
    const answer = known.runId === (turn.runId ?? undefined) ? known : begin(turn);
    answer.lastTurn = turn.id;
    sayOnce(answer, marksIn(turn, begun.id === turn.runId ? begun.model : undefined));
    return answer;
  };
  const begin = (turn: Turn): Answer => {
    const agent = authorOf(turn.author).id;
    const run = turn.runId ?? turn.id;
    const segment = segments.get(`${run}:${agent}`) ?? 0;
    segments.set(`${run}:${agent}`, segment + 1);
    const answer: Answer = {
      kind: 'answer',
      id: idOf(run, agent, segment),
      runId: turn.runId ?? undefined,
      agent,
      model: begun.id === turn.runId ? begun.model : undefined,
      ts: turn.ts,
      parts: [],
      state: 'running',
      context,
      asked,
      lastTurn: turn.id,
    };
    const ownNotes = notes[answer.id] ?? [];
    for (const { code } of ownNotes) said.add(`${answer.runId}:${agent}:${code}`);
    answer.parts.push(...ownNotes);
    open.set(turn.lane, answer);
    messages.push(answer);
    return answer;
  };
  for (const turn of turns) {
    if (turn.type === 'user') {
      for (const answer of open.values()) if (answer.state === 'running') answer.state = 'done';
      open = new Map();
      asked = turn.id;
      context = citedIn(turn.pieces);
      messages.push({
        kind: 'words',
        id: turn.id,
        content: turn.content,
        ts: turn.ts,
        runId: turn.runId,
        state: 'stored',
      });
      continue;
    }
    if (turn.type === 'run_start') {
      begun = { id: turn.runId, model: turn.model, agents: turn.agents };
      continue;
    }
    if (without !== undefined && turn.runId === without) continue;
    switch (turn.type) {
      case 'assistant_text': {
        const answer = answerOf(turn);
        answer.model = turn.model;
        if (turn.content) answer.parts.push({ kind: 'text', turnId: turn.id, text: turn.content });
        break;
      }
      case 'tool_call':
        stepsOf(answerOf(turn)).push({
          toolUseId: turn.toolUseId,
          tool: turn.toolName,
          input: turn.input,
          label: turn.label,
        });
        break;
      case 'tool_result': {
        const answer = answerOf(turn);
        const step = findStep(answer, turn.toolUseId);
        const { output, durationMs, draftId, report } = turn;
        if (step) Object.assign(step, { output, ok: !turn.isError, durationMs, draftId, report });
        if (turn.draftId) answer.parts.push({ kind: 'draft', draftId: turn.draftId });
        break;
      }
      case 'run_end': {
        if (open.size === 0 && turn.status !== 'done') {
          // No agent spoke, so the end is shown for the agents that were asked.
          const asked = begun.id === turn.runId ? begun.agents : undefined;
          for (const [lane, agent] of (asked ?? ['']).entries()) answerOf({ ...turn, lane, author: `agent:${agent}` });
        }
        const answers = [...open.values()];
        const last = answers.at(-1);
        const cancelled = new Set(turn.cancelledLanes);
        for (const [lane, answer] of open) answer.state = cancelled.has(lane) ? 'cancelled' : turn.status;
        if (last) {
          last.usage = turn.usage;
          last.error = turn.error;
          last.endedAt = turn.ts;
          last.lastTurn = turn.id;
        }
        open = new Map();
        break;
      }
      case 'summary':
        messages.push({
          kind: 'divider',
          id: turn.id,
          text: 'Older turns were summarised to save room',
          detail: turn.content,
        });
        break;
      case 'feedback': {
        const rated = messages.findLast((message) => holdsTurn(message, turn.about));
        if (rated?.kind === 'answer') rated.feedback = turn.rating ? turn : undefined;
        break;
      }
      case 'reasoning':
      case 'decision':
        break;
    }
  }
  // A page may end inside a finished run; only a live run counts as active.
  for (const answer of open.values()) if (answer.state === 'running') answer.state = 'interrupted';
  return messages;
}

function stepsOf(answer: Answer): ToolStep[] {
  const last = answer.parts.at(-1);
  if (last?.kind === 'tools') return last.steps;
  const steps: ToolStep[] = [];
  answer.parts.push({ kind: 'tools', steps });
  return steps;
}

function findStep(answer: Answer, toolUseId: string): ToolStep | undefined {
  for (const part of answer.parts) {
    if (part.kind !== 'tools') continue;
    const step = part.steps.find((candidate) => candidate.toolUseId === toolUseId);
    if (step) return step;
  }
  return undefined;
}

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
  return { kind: 'answer', id: idOf(runId, agent, 0), runId, agent, model, parts: [], state: 'running' };
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

/** A key that stays with a part while others are added or removed before it. */
export function partKey(part: Part): string {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return `${part.kind}:${part.turnId}`;
    case 'tools':
      return `tools:${part.steps[0]?.toolUseId}`;
    case 'draft':
      return part.draftId;
    case 'note':
      return `note:${part.code}:${part.text}`;
  }
}

/** Whether a turn of the log is, or is part of, this message. */
export function holdsTurn(message: Message, turn: string): boolean {
  if (message.kind !== 'answer') return message.id === turn;
  return message.parts.some((part) => (part.kind === 'text' || part.kind === 'reasoning') && part.turnId === turn);
}

/** The text of a message without its images. */
export function textOf(content: UserContent): string {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** The whole text of an answer, for copying. */
export function answerText(answer: Answer): string {
  return answer.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n\n');
}
