// The data that Onyx and its callers exchange, in camelCase as callers see it. What the OpenAPI file describes is taken
// from there; what only the socket and the log contain is written here.

import type { Query, Schema } from './wire.js';

export interface Fault {
  /** A code from the server's table, or `offline`. */
  code: Schema<'ErrorCode'> | 'offline' | (string & {});
  message: string;
  hint: string;
  field?: string;
  /** When a retry may help, if known. */
  retryAfterSeconds?: number;
}

export type Usage = Schema<'Usage'>;
export type RunStatus = Schema<'RunStatus'>;
export type TextStatus = 'complete' | 'cancelled' | 'error' | 'interrupted';
export type SessionStatus = Schema<'SessionStatus'>;

export interface Session extends Schema<'SessionView'> {
  /** Its active run; sent only over the socket. */
  runId?: string | null;
  siblings?: Sibling[];
}

/** One fork of a conversation; the first of its family has no `forkTurn`. */
export type Sibling = Schema<'Sibling'>;

export type UserPart =
  | { type: 'text'; text: string }
  | { type: 'image'; mediaType: string; data: string }
  | { type: 'file'; name: string; mediaType: string; key: string };

export type UserContent = string | UserPart[];

/** What people read of a tool call: a verb for each state, and its subject. */
export type CallLabel = Schema<'CallLabel'>;
/** The outcome of a tool call for people, besides what the model reads. */
export type CallReport = Schema<'CallReport'>;
export type CallState = Schema<'CallState'>;
/** Whether a draft wants a yes or an answer in words. */
export type AsksFor = Schema<'AsksFor'>;
/** The action that a run performs, and the page that it writes. */
export type ActionOfRun = Schema<'ActionRun'>;

/** A piece of text that was given to the model with a message. */
export interface GivenPiece {
  scope: string;
  source: string;
  startLine?: number;
  endLine?: number;
  /** The source and chunk it is part of; absent in old logs. */
  sourceId?: string;
  chunkId?: string;
  title?: string;
  /** The conversation and the message that the piece is from; absent for files. */
  sessionId?: string;
  turn?: string;
  tokens: number;
  text: string;
}

/** Splits `person:<id>`, `agent:<id>` or `system` into its parts. */
export function authorOf(author: string): { kind: string; id: string } {
  const at = author.indexOf(':');
  return at < 0 ? { kind: author, id: author } : { kind: author.slice(0, at), id: author.slice(at + 1) };
}

/** A person's rating of an answer; without a rating, the old one is removed. */
export type Feedback = Schema<'Feedback'>;
export type Rating = Schema<'Rating'>;
/** A tag of conversations, and how many have it. */
export type Tag = Schema<'TagCount'>;
/** A page, task, ref or project. */
export type EntityRef = Schema<'EntityRef'>;

interface TurnBase {
  id: string;
  ts: string;
  runId?: string | null;
  lane: number;
  author: string;
  origin: Schema<'Origin'>;
}

export type Turn = TurnBase &
  (
    | { type: 'user'; content: UserContent; context?: string; pieces?: GivenPiece[] }
    | { type: 'reasoning'; model: string; data: unknown }
    | { type: 'assistant_text'; content: string; status: TextStatus; model: string }
    | { type: 'tool_call'; toolUseId: string; toolName: string; input: unknown; label: CallLabel }
    | {
        type: 'tool_result';
        toolUseId: string;
        output: string;
        isError: boolean;
        draftId?: string;
        durationMs: number;
        report: CallReport;
      }
    | { type: 'decision'; draftId: string; state: DraftState; reason?: string; output?: string }
    | { type: 'run_start'; agents?: string[]; model?: string; action?: ActionOfRun }
    | {
        type: 'run_end';
        status: RunStatus;
        usage: Usage;
        cost?: number;
        model?: string;
        error?: Fault;
        /** Lanes of agents that the person stopped while others went on. */
        cancelledLanes?: number[];
      }
    | { type: 'summary'; content: string; replaces: { first: string; last: string } }
    | ({ type: 'feedback' } & Feedback)
  );

export interface TurnPage extends Omit<Schema<'TurnList'>, 'turns'> {
  /** The file of the API leaves the fields of each type of turn open. */
  turns: Turn[];
}

export interface SessionPage extends TurnPage {
  session: Session;
  siblings: Sibling[];
  queued: QueuedMessage[];
}

/** A message that was sent to an active run and has not been read yet. */
export interface QueuedMessage extends Omit<Schema<'QueuedMessage'>, 'content'> {
  /** The file of the API describes it in words only. */
  content: UserContent;
}

/** Which files a run changed, and whether that was undone. */
export type RunChanges = Schema<'ChangesOfRun'>;

export interface SessionList extends Omit<Schema<'SessionList'>, 'sessions'> {
  sessions: Session[];
}

export type SessionFilter = Query<'ListQuery'>;

export type Preview = Schema<'Preview'>;
/** A line of a diff, without its mark. */
export type DiffLine = Schema<'DiffLine'>;
/** A page, task, ref or project as a change would leave it. */
export type DocumentPreview = Schema<'DocumentPreview'>;
export type DocumentField = Schema<'DocumentField'>;

export type DraftState = Schema<'DraftState'>;

/** The fields of a draft that the event of a run announces. */
type AnnouncedDraft = Pick<Schema<'PendingChange'>, 'id' | 'state' | 'tool' | 'summary' | 'preview' | 'asksFor'>;

/**
 * A tool call that waits for a decision. The event that announces it leaves out all other fields. `person` names the
 * member it belongs to, in the owner's list of drafts that members may not approve.
 */
export type Draft = AnnouncedDraft & Partial<Schema<'MembersChange'>>;

/** `run`: the same tool may reach the same host for the rest of the run. */
export type ApprovalScope = 'once' | 'run';

/** A piece of text that retrieval supplied to a run. */
export type ContextPiece = Schema<'ContextPiece'>;

/** The events of a run. */
export type RunEvent =
  | { type: 'start'; agents: string[]; model: string; action?: ActionOfRun }
  | { type: 'delta'; turnId: string; text: string }
  | { type: 'reasoning'; turnId: string; text: string }
  | {
      type: 'tool_call';
      turnId: string;
      toolUseId: string;
      tool: string;
      input: unknown;
      summary: string;
      label: CallLabel;
    }
  | { type: 'tool_output'; toolUseId: string; chunk: string }
  | {
      type: 'tool_result';
      turnId: string;
      toolUseId: string;
      tool: string;
      ok: boolean;
      output: string;
      summary: string;
      durationMs: number;
      report: CallReport;
    }
  | { type: 'draft'; draftId: string; tool: string; summary: string; preview: Preview; asksFor: AsksFor }
  | {
      type: 'confirm';
      draftId: string;
      tool: string;
      summary: string;
      preview: Preview;
      asksFor: AsksFor;
      expiresAt: string;
    }
  | { type: 'context'; pieces: ContextPiece[] }
  | { type: 'status'; message: string; code: string }
  | ({ type: 'usage' } & Usage)
  | ({ type: 'error' } & Fault)
  | { type: 'done'; status: RunStatus; assistantTurnIds: string[]; usage: Usage };

/** A run's event with its place in the run. */
export interface EventEnvelope {
  sessionId: string;
  runId: string;
  seq: number;
  agent?: string;
  event: RunEvent;
}

/** An agent in the status; `agents` has its settings and files. */
export type Agent = Pick<Schema<'AgentView'>, 'id' | 'name' | 'model' | 'fallbacks' | 'tier' | 'default'>;

export type Dependency = Schema<'Dependency'>;

export interface ServerStatus {
  version: string;
  dependencies: Dependency[];
  agents: Agent[];
  runs: { sessionId: string; runId: string }[];
}

export interface ChangeEvent {
  topic: string;
  change: string;
  sessionId?: string;
  runId?: string;
  draftId?: string;
  jobId?: string;
  /** The text to show to the person. */
  message?: string;
}

export interface SendRequest {
  message?: UserContent;
  agent?: string;
  sessionId?: string;
  model?: string;
  edit?: string;
  regenerate?: string;
  retry?: string;
  /** A message that waits because no run has read it. */
  queued?: string;
  /** A new chat that is not listed, indexed or remembered, and is deleted a day after it was last used. */
  temporary?: boolean;
  delivery?: 'steer' | 'follow_up';
  /** An idempotency key: messages with the same key are accepted once. */
  key?: string;
}

export interface SendResult {
  sessionId: string;
  runId: string;
  queuedTurnId?: string;
}

export interface ChatRequest {
  message: string;
  /** The session of the message; a new one if absent. */
  sessionId?: string;
  agent?: string;
  /** A dry run: tools only report what they would do. */
  dryRun?: boolean;
  /** A new session that is not listed, indexed or remembered, and is deleted a day after it was last used. */
  temporary?: boolean;
  /** Earlier drafts that this message approves. */
  confirm?: string[];
}

/** One piece of an answer for callers that want the text and what needs a decision. */
export type ChatChunk =
  | { type: 'chunk'; text: string }
  | {
      /** `confirm`: the run waits for a decision through `drafts`. `draft`: the change waits, the run does not. */
      type: 'draft' | 'confirm';
      draftId: string;
      tool: string;
      summary: string;
      preview: Preview;
      asksFor: AsksFor;
      sessionId: string;
      runId: string;
    }
  | { type: 'done'; finishReason: RunStatus; sessionId: string; runId: string; usage: Usage };
