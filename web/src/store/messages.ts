// The messages that people see in a conversation, whether they were read from its log (`loggedMessages.ts`) or from the
// events of its active run (`liveRun.ts`).

import type { CallLabel, CallReport, ContextPiece, Fault, Feedback, RunStatus, Usage, UserContent } from '@onyx/sdk';

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
export const answerId = (run: string, agent: string, segment: number) => `${run}:${agent}:${segment}`;

export type Note = Extract<Part, { kind: 'note' }>;

/** Notes by the id of their answer. */
export type Notes = Record<string, Note[]>;

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
