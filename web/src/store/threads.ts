// Messages in threads: their promised answers are shown at once, and no message is sent twice.

import { OnyxError } from '@onyx/sdk';
import { faultOf, loadConversation, onyx } from './client';
import { answerQuestion } from './drafts';
import { textOf } from './messages';
import { addPending, changePending, keepOutbox } from './outbox';
import { useStore, type Pending } from './state';
import { foundAgain, promisedTo, promiseOf, waitingOf } from './waiting';

const { getState, setState } = useStore;

/** How long to wait for a run to start; after that the server is asked for the reason. */
const BEGINS_MS = 3_000;
const AGAIN_MS = 1_000;
const NEWEST = 20;

/** The messages of a thread: its log, the active run, and messages that wait. */
export async function loadThread(threadId: string): Promise<void> {
  await loadConversation(threadId);
  await refreshWaiting(threadId);
}

/** Sends a message; the server decides who answers. */
export async function sayInThread(threadId: string, content: string): Promise<void> {
  if (await answerQuestion(threadId, content)) return;
  const item: Pending = {
    key: crypto.randomUUID(),
    sessionId: threadId,
    content,
    request: {},
    at: new Date().toISOString(),
    state: 'sending',
    thread: {},
  };
  addPending(item);
  await deliverToThread(item);
}

export async function deliverToThread({
  key,
  turnId,
  sessionId: threadId = '',
  content,
  thread,
}: Pending): Promise<string | undefined> {
  const words = textOf(content);
  if (turnId !== undefined) {
    await loadThread(threadId);
    return threadId;
  }
  try {
    // The answer to the first attempt may have been lost, so a stored message is not sent again.
    const messages = thread?.sentAfter === undefined ? [] : await onyx.threads.messages(threadId, { limit: NEWEST });
    const found = foundAgain(messages, words, thread?.sentAfter ?? '');
    if (found) {
      changePending(key, {
        turnId: found.id,
        state: 'sending',
        fault: undefined,
        thread: { answering: promisedTo(messages, found.id) },
      });
      await loadThread(threadId);
      return threadId;
    }
    changePending(key, { thread: { sentAfter: newestKnown(threadId) } });
    const { userMessage, assistantMessages } = await onyx.threads.sendMessage(threadId, words);
    changePending(key, {
      turnId: userMessage.id,
      state: 'sending',
      fault: undefined,
      thread: { answering: assistantMessages.map(promiseOf) },
    });
    askAfter(threadId);
    return threadId;
  } catch (error) {
    const isOffline = error instanceof OnyxError && error.isOffline;
    changePending(key, isOffline ? { state: 'waiting' } : { state: 'failed', fault: faultOf(error) });
    if (isOffline) setTimeout(() => tryAgain(key), AGAIN_MS);
    return undefined;
  }
}

/** Offline, the outbox is sent when the connection is back; online, only this request was lost. */
function tryAgain(key: string): void {
  const { link, pending } = getState();
  const item = pending.find((known) => known.key === key && known.state === 'waiting');
  if (!item || link !== 'online') return;
  changePending(key, { state: 'sending' });
  void deliverToThread(item);
}

/** The person's newest known message; ids are ordered by time. */
function newestKnown(threadId: string): string {
  const { conversations, pending } = getState();
  const stored = conversations[threadId]?.turns.flatMap((turn) => (turn.type === 'user' ? [turn.id] : [])) ?? [];
  const sent = pending.flatMap((item) => (item.sessionId === threadId && item.turnId ? [item.turnId] : []));
  return [...stored, ...sent].sort().at(-1) ?? '';
}

/** Loads the waiting messages and their promised answers. */
export async function refreshWaiting(threadId: string): Promise<void> {
  try {
    const messages = await onyx.threads.messages(threadId, { limit: NEWEST });
    const logged = new Set(getState().conversations[threadId]?.turns.map((turn) => turn.id));
    const waiting = waitingOf(threadId, messages, logged);
    setState((state) => {
      const keys = new Map(state.pending.flatMap((item) => (item.turnId ? [[item.turnId, item.key]] : [])));
      const others = state.pending.filter((item) => item.sessionId !== threadId || item.turnId === undefined);
      return { pending: [...others, ...waiting.map((item) => ({ ...item, key: keys.get(item.key) ?? item.key }))] };
    });
    keepOutbox();
  } catch {
    // A lost connection is shown elsewhere; the known messages stay.
  }
}

/** Asks the server about an accepted message for which no run starts. */
function askAfter(threadId: string): void {
  setTimeout(() => {
    if (!getState().conversations[threadId]?.live) void refreshWaiting(threadId);
  }, BEGINS_MS);
}

/** Stops an answer, or cancels a promised one; its question is then read with the next message. */
export async function cancelAnswer(threadId: string, messageId: string): Promise<void> {
  await onyx.threads.cancelMessage(messageId);
  await refreshWaiting(threadId);
}

/** The message being answered; its id stops all answers to it. */
export function questionAtWork(threadId: string): string | undefined {
  const { conversations, pending } = getState();
  const { live, turns = [] } = conversations[threadId] ?? {};
  const logged = turns.findLast((turn) => turn.type === 'user' && turn.runId === live?.runId)?.id;
  return logged ?? pending.find((item) => item.sessionId === threadId && item.turnId !== undefined)?.turnId;
}
