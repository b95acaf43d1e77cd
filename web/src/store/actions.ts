// What people do in the app: send, stop, fork, rename, rate and so on.

import type { EntityRef, Rating, SendRequest, Session, UserContent } from '@onyx/sdk';
import { OnyxError } from '@onyx/sdk';
import {
  changeConversation,
  faultOf,
  forgetSession,
  loadConversation,
  lookAtShown,
  onyx,
  socket,
  whenOnline,
} from './client';
import { deliverToCompanion } from './companion';
import { attempt } from '../ui/act';
import { save } from '../ui/download';
import { answerQuestion, flushVerdicts } from './drafts';
import { startLive } from './liveRun';
import { addPending, changePending } from './outbox';
import { usePreferences } from './preferences';
import { refreshTags } from './tags';
import { deliverToThread } from './threads';
import { toast, useStore, type Pending } from './state';

const { getState, setState } = useStore;

export interface Saying {
  content?: UserContent;
  sessionId?: string;
  agent?: string;
  model?: string;
  edit?: string;
  regenerate?: string;
  retry?: string;
  /** The id of a message that no run has read. */
  queued?: string;
  /** The idempotency key, if several tabs may send the same message. */
  key?: string;
  /** Starts a temporary chat. */
  temporary?: boolean;
}

/** Sends a message; returns its session, or nothing while it waits for the connection. */
export async function say(saying: Saying): Promise<string | undefined> {
  const { sessionId, content: words, edit, regenerate, retry, queued } = saying;
  const isPlain = typeof words === 'string' && !edit && !regenerate && !retry && !queued;
  if (sessionId && isPlain && (await answerQuestion(sessionId, words))) return sessionId;
  const key = saying.key ?? crypto.randomUUID();
  const { content, ...rest } = saying;
  const request: SendRequest = { ...rest, message: content, key, delivery: usePreferences.getState().delivery };
  const pending: Pending = {
    key,
    sessionId: saying.edit || saying.regenerate ? undefined : saying.sessionId,
    content: content ?? '',
    request,
    at: new Date().toISOString(),
    state: 'sending',
  };
  addPending(pending);
  return deliver(pending);
}

async function deliver(pending: Pending): Promise<string | undefined> {
  if (pending.companion) return deliverToCompanion(pending);
  if (pending.thread) return deliverToThread(pending);
  try {
    const result = await socket.send(pending.request);
    const { sessionId, runId, queuedTurnId } = result;
    const state = queuedTurnId ? 'queued' : 'sending';
    changePending(pending.key, { sessionId, runId, state, queuedTurn: queuedTurnId, fault: undefined });
    if (!queuedTurnId) {
      changeConversation(sessionId, (known) =>
        known.live?.runId === runId ? known : { ...known, live: startLive(runId) },
      );
    }
    return sessionId;
  } catch (error) {
    const offline = error instanceof OnyxError && error.isOffline;
    changePending(pending.key, offline ? { state: 'waiting' } : { state: 'failed', fault: faultOf(error) });
    return undefined;
  }
}

let flushing = false;

/** Sends the messages that wait for the connection, in their order. */
export async function flushOutbox(): Promise<void> {
  if (flushing) return;
  flushing = true;
  try {
    for (const item of getState().pending.filter((waiting) => waiting.state === 'waiting')) {
      changePending(item.key, { state: 'sending' });
      await deliver(item);
    }
  } finally {
    flushing = false;
  }
}

whenOnline(() => {
  void flushOutbox();
  void flushVerdicts();
});

export function sayAgain(key: string): void {
  const item = getState().pending.find((candidate) => candidate.key === key);
  if (!item) return;
  changePending(key, { state: 'sending', fault: undefined });
  void deliver(item);
}

export async function stop(sessionId: string): Promise<void> {
  await attempt('The run could not be stopped', () => socket.abort({ sessionId }));
}

/** Stops one of several agents that answer; the others go on. */
export async function stopAgent(runId: string, agent: string): Promise<void> {
  await attempt('The answer could not be stopped', () => socket.abort({ runId, agent }));
}

/** Withdraws a message that no run has read; returns whether that succeeded. */
export async function discardQueued(sessionId: string, message: string): Promise<boolean> {
  const done = await attempt('The message was not discarded', () =>
    onyx.sessions.discardQueued(sessionId, message).then(() => true),
  );
  if (!done) return false;
  changeConversation(sessionId, (known) => ({ ...known, queued: known.queued?.filter(({ id }) => id !== message) }));
  return true;
}

const keepUndone = (runId: string, undone: boolean) =>
  setState((state) => ({ undone: { ...state.undone, [runId]: undone } }));

export async function undoRun(runId: string): Promise<void> {
  const restored = await attempt('The changes were not undone', () => onyx.runs.undo(runId));
  if (!restored) return;
  keepUndone(runId, true);
  toast(restored.length === 0 ? 'This run changed no files' : `Restored ${restored.join(', ')}`, {
    action: { label: 'Redo', run: () => void redoRun(runId) },
  });
}

export async function redoRun(runId: string): Promise<void> {
  const written = await attempt('The changes were not redone', () => onyx.runs.redo(runId));
  if (!written) return;
  keepUndone(runId, false);
  toast(`Redone: ${written.join(', ')}`);
}

/** Asks once whether a run's changes have been undone. */
export async function learnUndone(runId: string): Promise<void> {
  if (getState().undone[runId] !== undefined) return;
  try {
    keepUndone(runId, (await onyx.runs.changes(runId)).undone);
  } catch {
    // An unknown state is shown as not undone, and requested again when the answer is shown again.
  }
}

export async function rename(id: string, title: string): Promise<void> {
  await change(id, { title }, 'The name was not changed');
}

export async function setArchived(id: string, archived: boolean, told: 'told' | 'quiet' = 'told'): Promise<void> {
  const done = await change(id, { status: archived ? 'archived' : 'active' }, 'The chat was not moved');
  if (done && archived && told === 'told')
    toast('Archived', { action: { label: 'Undo', run: () => void setArchived(id, false) } });
}

/** Pins a chat with its forks on every device. */
export async function setPinned(id: string, pinned: boolean): Promise<void> {
  await change(id, { pinned }, pinned ? 'The chat was not pinned' : 'The chat was not unpinned');
}

export async function setTags(id: string, tags: string[]): Promise<boolean> {
  const done = await change(id, { tags }, 'The tags were not changed');
  if (done) await refreshTags();
  return done;
}

/** Attaches a chat to a page, task, ref or project, or detaches it. */
export async function attach(id: string, attached: EntityRef | null): Promise<boolean> {
  return change(id, { attached }, attached ? 'The chat was not attached' : 'The chat was not detached');
}

/** Rates an answer; without a rating, removes the old one. */
export async function rate(
  sessionId: string,
  turnId: string,
  feedback: { rating?: Rating; note?: string },
): Promise<boolean> {
  const kept = await attempt('Your rating was not saved', () => onyx.sessions.rate(sessionId, turnId, feedback));
  if (kept) await loadConversation(sessionId);
  return kept !== undefined;
}

async function change(id: string, patch: Parameters<typeof onyx.sessions.update>[1], failed: string): Promise<boolean> {
  const session = await attempt(failed, () => onyx.sessions.update(id, patch));
  if (session) setState((state) => ({ sessions: { ...state.sessions, [id]: { ...state.sessions[id], ...session } } }));
  return session !== undefined;
}

/** Sets the agents that answer in a chat, and whether they answer in turn or all at once. */
export async function setAnswering(id: string, agents: string[], mode: 'sequential' | 'parallel'): Promise<boolean> {
  return change(id, { agents, mode }, 'The answering agents were not changed');
}

export async function remove(id: string): Promise<boolean> {
  const removed = await attempt('The chat was not deleted', () => onyx.sessions.remove(id).then(() => true));
  if (!removed) return false;
  forgetSession(id);
  return true;
}

export async function fork(id: string, turnId: string): Promise<Session | undefined> {
  const session = await attempt('The chat was not forked', () => onyx.sessions.fork(id, turnId));
  if (session) setState((state) => ({ sessions: { ...state.sessions, [session.id]: session } }));
  return session;
}

const ENDINGS = { markdown: 'md', jsonl: 'jsonl', html: 'html' };

export async function exportSession(session: Session, format: keyof typeof ENDINGS): Promise<void> {
  const text = await attempt('The export failed', async () => {
    if (format !== 'html') return onyx.sessions.export(session.id, format);
    const { htmlPageOf } = await import('./htmlExport');
    return htmlPageOf(session.title ?? 'Chat', await onyx.sessions.export(session.id, 'markdown'));
  });
  if (text === undefined) return;
  const name =
    (session.title ?? 'chat')
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .trim()
      .slice(0, 60) || 'chat';
  save(`${name}.${ENDINGS[format]}`, text);
}

export function show(sessionId: string | undefined): void {
  setState({ shown: sessionId });
  lookAtShown();
}
