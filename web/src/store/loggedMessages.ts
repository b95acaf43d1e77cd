// Turns a session's log into the messages that people see. Pure.

import { authorOf, type GivenPiece, type Turn } from '@onyx/sdk';
import {
  answerId,
  holdsTurn,
  type Answer,
  type Cited,
  type Message,
  type Note,
  type Notes,
  type ToolStep,
} from './messages';

/** Messages of a log, oldest first. `without` names a run whose answer is shown live instead. */
export function fromTurns(turns: Turn[], without?: string, notes: Notes = {}): Message[] {
  const log = new LogReader(notes);
  for (const turn of turns) {
    const isShownLive = without !== undefined && turn.runId === without;
    // The message that a live run answers is shown from the log like every other.
    if (!isShownLive || turn.type === 'user' || turn.type === 'run_start') log.read(turn);
  }
  return log.end();
}

type TurnOf<Type extends Turn['type']> = Extract<Turn, { type: Type }>;

/** Reads a log turn by turn. A message starts new answers, which the turns of each agent then extend. */
class LogReader {
  private readonly messages: Message[] = [];
  /** The answers that may still grow, by lane. */
  private open = new Map<number, Answer>();
  /** The newest message of a person, and what retrieval gave with it. */
  private asked?: string;
  private context?: Cited[];
  /** The newest start of a run. */
  private begun: { id?: string | null; model?: string; agents?: string[] } = {};
  /** How many answers each agent has begun in each run. */
  private readonly segments = new Map<string, number>();
  /** As in the live view, each note appears once for a run and agent. */
  private readonly said = new Set<string>();

  constructor(private readonly notes: Notes) {}

  read(turn: Turn): void {
    switch (turn.type) {
      case 'user':
        return this.readUser(turn);
      case 'run_start':
        this.begun = { id: turn.runId, model: turn.model, agents: turn.agents };
        return;
      case 'assistant_text': {
        const answer = this.answerOf(turn);
        answer.model = turn.model;
        if (turn.content) answer.parts.push({ kind: 'text', turnId: turn.id, text: turn.content });
        return;
      }
      case 'tool_call': {
        const { toolUseId, toolName: tool, input, label } = turn;
        stepsOf(this.answerOf(turn)).push({ toolUseId, tool, input, label });
        return;
      }
      case 'tool_result':
        return this.readResult(turn);
      case 'run_end':
        return this.readEnd(turn);
      case 'summary':
        return this.readSummary(turn);
      case 'feedback': {
        const rated = this.messages.findLast((message) => holdsTurn(message, turn.about));
        if (rated?.kind === 'answer') rated.feedback = turn.rating ? turn : undefined;
        return;
      }
      case 'reasoning':
      case 'decision':
        return;
    }
  }

  /** All messages. A page may end inside a finished run; only a live run counts as active. */
  end(): Message[] {
    this.settleOpen('interrupted');
    return this.messages;
  }

  private settleOpen(state: 'done' | 'interrupted'): void {
    for (const answer of this.open.values()) if (answer.state === 'running') answer.state = state;
  }

  private readUser({ id, content, ts, runId, pieces }: TurnOf<'user'>): void {
    this.settleOpen('done');
    this.open = new Map();
    this.asked = id;
    this.context = citedIn(pieces);
    this.messages.push({ kind: 'words', id, content, ts, runId, state: 'stored' });
  }

  private readResult(turn: TurnOf<'tool_result'>): void {
    const answer = this.answerOf(turn);
    const step = findStep(answer, turn.toolUseId);
    const { output, durationMs, draftId, report } = turn;
    if (step) Object.assign(step, { output, ok: !turn.isError, durationMs, draftId, report });
    if (draftId) answer.parts.push({ kind: 'draft', draftId });
  }

  private readEnd(turn: TurnOf<'run_end'>): void {
    if (this.open.size === 0 && turn.status !== 'done') {
      // No agent spoke, so the end is shown for the agents that were asked.
      const asked = this.begun.id === turn.runId ? this.begun.agents : undefined;
      for (const [lane, agent] of (asked ?? ['']).entries()) this.answerOf({ ...turn, lane, author: `agent:${agent}` });
    }
    const cancelled = new Set(turn.cancelledLanes);
    for (const [lane, answer] of this.open) answer.state = cancelled.has(lane) ? 'cancelled' : turn.status;
    const last = [...this.open.values()].at(-1);
    if (last) {
      last.usage = turn.usage;
      last.error = turn.error;
      last.endedAt = turn.ts;
      last.lastTurn = turn.id;
    }
    this.open = new Map();
  }

  private readSummary({ id, content }: TurnOf<'summary'>): void {
    const text = 'Older turns were summarised to save room';
    this.messages.push({ kind: 'divider', id, text, detail: content });
  }

  /** The answer that a turn belongs to: the open one of its lane, or a new one in another run. */
  private answerOf(turn: Turn): Answer {
    const known = this.open.get(turn.lane) ?? this.begin(turn);
    const answer = known.runId === (turn.runId ?? undefined) ? known : this.begin(turn);
    answer.lastTurn = turn.id;
    this.sayOnce(answer, marksIn(turn, this.begun.id === turn.runId ? this.begun.model : undefined));
    return answer;
  }

  private begin(turn: Turn): Answer {
    const agent = authorOf(turn.author).id;
    const run = turn.runId ?? turn.id;
    const segment = this.segments.get(`${run}:${agent}`) ?? 0;
    this.segments.set(`${run}:${agent}`, segment + 1);
    const answer: Answer = {
      kind: 'answer',
      id: answerId(run, agent, segment),
      runId: turn.runId ?? undefined,
      agent,
      model: this.begun.id === turn.runId ? this.begun.model : undefined,
      ts: turn.ts,
      parts: [],
      state: 'running',
      context: this.context,
      asked: this.asked,
      lastTurn: turn.id,
    };
    const ownNotes = this.notes[answer.id] ?? [];
    for (const { code } of ownNotes) this.said.add(`${answer.runId}:${agent}:${code}`);
    answer.parts.push(...ownNotes);
    this.open.set(turn.lane, answer);
    this.messages.push(answer);
    return answer;
  }

  private sayOnce({ runId, agent, parts }: Answer, notes: Note[]): void {
    for (const note of notes) {
      const key = `${runId}:${agent}:${note.code}`;
      if (!this.said.has(key)) parts.unshift(note);
      this.said.add(key);
    }
  }
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
