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
import { readStored } from './browserStorage';
import type { Live } from './liveRun';
import type { Notes } from './messages';

/** A message on its way to the server, kept in the browser until the server has acknowledged it. */
export interface Pending {
  key: string;
  sessionId?: string;
  content: UserContent;
  request: SendRequest;
  at: string;
  state: 'sending' | 'waiting' | 'queued' | 'unread' | 'failed' | 'unanswered';
  /** For a companion: the view, the newest turn known when it was written, and whether it was sent before. */
  companion?: { view?: View; seen?: string; tried?: true };
  /** Its turn, once the server has stored it. */
  turnId?: string;
  /** For a message to an active run: the turn it becomes once that run has read it. */
  queuedTurn?: string;
  /** The run that it was given to. */
  runId?: string;
  fault?: Fault;
  /** The delivery of a message in a thread. */
  thread?: InThread;
}

/** An answer that an agent promised, under the id that it will have. */
export interface Promised {
  id: string;
  agent: string;
}

/** The delivery of a message in a thread. */
export interface InThread {
  /** The promised answers; empty if none comes before the next message. */
  answering?: Promised[];
  /** Set if the message may have arrived unconfirmed: the newest message known before it was sent. */
  sentAfter?: string;
}

export interface Verdict {
  decision: 'approve' | 'reject';
  reason?: string;
  scope?: ApprovalScope;
}

/** The hash of the reviewed plan, so that nothing else is approved. */
export interface SentVerdict extends Verdict {
  planHash?: string;
}

export interface Conversation {
  turns: Turn[];
  /** The forks of this conversation, itself included, oldest first. */
  siblings?: Sibling[];
  /** Cursor of the older turns; absent when all are here. */
  before?: number;
  /** True while older turns are inserted above, so that the visible text does not move. */
  older?: boolean;
  phase: 'loading' | 'ready' | 'failed';
  /** True if it was read from this browser's offline copy. */
  kept?: true;
  fault?: Fault;
  live?: Live;
  /** Messages, sent here or elsewhere, that no run has read yet. */
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
  /** Why the server requires a sign-in, if it said so. */
  refusal?: Fault;
  /** When the connection was lost. */
  lostAt?: number;
  status?: ServerStatus;
  /** Why the newest status is not known. */
  statusFault?: Fault;
  /** The signed-in person; absent until loaded. */
  me?: Me;
  /** The known models, by `<provider>/<model>`. */
  models: Record<string, Model>;
  sessions: Record<string, Session>;
  sessionsPhase: 'loading' | 'ready' | 'failed';
  /** Sessions that were deleted while the app was open. */
  removed: ReadonlySet<string>;
  conversations: Record<string, Conversation>;
  /** Whether the file changes of a run are undone, by the run's id, if known. */
  undone: Record<string, boolean>;
  /** Notes of runs that no log holds; kept in the browser that received them. */
  notes: Notes;
  pending: Pending[];
  drafts: Record<string, Draft>;
  draftsPhase: 'loading' | 'ready' | 'failed';
  /** Decisions that wait for the connection, by draft; kept in the browser like messages. */
  verdicts: Record<string, SentVerdict>;
  toasts: Toast[];
  /** The visible session; answers that end there are marked as read. */
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
  notes: readStored('onyx.notes', {}),
  pending: readStored<Pending[]>('onyx.outbox', []).map((item) => ({ ...item, state: 'waiting' as const })),
  drafts: {},
  draftsPhase: 'loading',
  verdicts: readStored('onyx.verdicts', {}),
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
