import type {
  ApprovalScope,
  Draft,
  Fault,
  Link,
  Me,
  Model,
  QueuedMessage,
  SendRequest,
  ServerStatus,
  Session,
  Sibling,
  Turn,
  UserContent,
  View,
} from '@onyx/sdk';
import { create } from 'zustand';
import { readKept } from './kept';
import type { Live, Notes } from './messages';

/** Words on their way to the server; kept in the browser until it has acknowledged them. */
export interface Pending {
  key: string;
  sessionId?: string;
  content: UserContent;
  request: SendRequest;
  at: string;
  state: 'sending' | 'waiting' | 'queued' | 'unread' | 'failed' | 'unanswered';
  /** Said to the companion of a space: what was looked at, the newest turn there was, and whether it was sent before. */
  companion?: { view?: View; seen?: string; tried?: true };
  /** What it is in the log, once the server keeps it. */
  turnId?: string;
  /** It was said to a run at work: what it will be in the log once that run has read it. */
  queuedTurn?: string;
  /** The run it was given to; its log says the rest. */
  runId?: string;
  fault?: Fault;
  /** Said in a thread, whose coworkers are asked through it. */
  thread?: InThread;
}

/** What becomes of words said in a thread. */
export interface InThread {
  /** Whose answers have been promised; empty when nobody answers before more is said. */
  answering?: string[];
  /** They may be there although no answer came back: the newest message known before they were sent. */
  sentAfter?: string;
}

export interface Verdict {
  decision: 'approve' | 'reject';
  reason?: string;
  scope?: ApprovalScope;
}

/** With what was looked at, so that nothing else is approved. */
export interface SentVerdict extends Verdict {
  planHash?: string;
}

export interface Conversation {
  turns: Turn[];
  /** The ways this conversation went, itself among them, oldest first. */
  siblings?: Sibling[];
  /** Cursor of the older turns; absent when all are here. */
  before?: number;
  /** Older turns are being put before the others: what one reads must not move. */
  older?: boolean;
  phase: 'loading' | 'ready' | 'failed';
  /** Read from what this browser kept, since there is no connection. */
  kept?: true;
  fault?: Fault;
  live?: Live;
  /** What was said here or elsewhere and no run has read yet. */
  queued?: QueuedMessage[];
}

export interface Toast {
  id: number;
  text: string;
  tone: 'plain' | 'danger';
  action?: { label: string; run: () => void };
}

export interface State {
  link: Link;
  /** Why the server wants a sign-in, where it said so. */
  refusal?: Fault;
  /** Since when there has been no connection. */
  lostAt?: number;
  status?: ServerStatus;
  /** Why the newest status is not known. */
  statusFault?: Fault;
  /** Who is signed in; absent until the server has said so. */
  me?: Me;
  /** What is known of each model, by `<provider>/<model>`. */
  models: Record<string, Model>;
  sessions: Record<string, Session>;
  sessionsPhase: 'loading' | 'ready' | 'failed';
  /** Sessions that were deleted while the app was open. */
  removed: ReadonlySet<string>;
  conversations: Record<string, Conversation>;
  /** Runs whose file changes are known to be undone, or not to be; by run. */
  undone: Record<string, boolean>;
  /** What runs said about themselves that no log holds; kept in the browser that heard it. */
  notes: Notes;
  pending: Pending[];
  drafts: Record<string, Draft>;
  draftsPhase: 'loading' | 'ready' | 'failed';
  /** Decisions that wait for the connection, by draft; kept in the browser like words. */
  verdicts: Record<string, SentVerdict>;
  toasts: Toast[];
  /** The session on the screen; what ends there is read. */
  shown?: string;
  updateReady?: () => void;
}

export const useStore = create<State>(() => ({
  link: 'connecting',
  sessions: {},
  sessionsPhase: 'loading',
  removed: new Set<string>(),
  models: {},
  conversations: {},
  undone: {},
  notes: readKept('onyx.notes', {}),
  pending: readKept<Pending[]>('onyx.outbox', []).map((item) => ({ ...item, state: 'waiting' as const })),
  drafts: {},
  draftsPhase: 'loading',
  verdicts: readKept('onyx.verdicts', {}),
  toasts: [],
}));

let toasts = 0;

export function toast(text: string, options: { tone?: Toast['tone']; action?: Toast['action'] } = {}): void {
  const id = (toasts += 1);
  const entry: Toast = { id, text, tone: options.tone ?? 'plain', action: options.action };
  useStore.setState((state) => ({ toasts: [...state.toasts.slice(-2), entry] }));
  const seconds = entry.tone === 'danger' || entry.action ? 10 : 4;
  setTimeout(() => dismissToast(id), seconds * 1000);
}

export function dismissToast(id: number): void {
  useStore.setState((state) => ({ toasts: state.toasts.filter((entry) => entry.id !== id) }));
}
