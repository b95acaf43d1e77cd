// Words said in threads: who answers them is said at once, and they are never sent twice.

import { OnyxError } from '@onyx/sdk';
import { faultOf, loadConversation, onyx } from './client';
import { answerQuestion } from './drafts';
import { textOf } from './messages';
import { addPending, changePending, keepOutbox } from './outbox';
import { useStore, type Pending } from './state';
import { foundAgain, promisedTo, waitingOf } from './waiting';

const { getState, setState } = useStore;

/** A run begins at once; where none does, the server says why. */
const BEGINS_MS = 3_000;
const AGAIN_MS = 1_000;
const NEWEST = 20;

/** What a thread shows: its log, the run at work, and what waits for its turn. */
export async function loadThread(threadId: string): Promise<void> {
  await loadConversation(threadId);
  await refreshWaiting(threadId);
}

/** Says something; who answers is the server's to say. */
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
    // The answer to a first try may have been lost: what is there is not said twice.
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
      thread: { answering: assistantMessages.map(({ author }) => author) },
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

/** Without a connection the outbox is sent when it is back; with one, a request was lost alone. */
function tryAgain(key: string): void {
  const { link, pending } = getState();
  const item = pending.find((known) => known.key === key && known.state === 'waiting');
  if (!item || link !== 'online') return;
  changePending(key, { state: 'sending' });
  void deliverToThread(item);
}

/** The newest of the person's messages that is known here; ids are in the order of time. */
function newestKnown(threadId: string): string {
  const { conversations, pending } = getState();
  const stored = conversations[threadId]?.turns.flatMap((turn) => (turn.type === 'user' ? [turn.id] : [])) ?? [];
  const sent = pending.flatMap((item) => (item.sessionId === threadId && item.turnId ? [item.turnId] : []));
  return [...stored, ...sent].sort().at(-1) ?? '';
}

/** Reads which messages wait for their turn, and who has undertaken to answer them. */
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
    // A lost link is shown as such; what is known stays.
  }
}

/** A message that was taken in and that no run takes up is asked after. */
function askAfter(threadId: string): void {
  setTimeout(() => {
    if (!getState().conversations[threadId]?.live) void refreshWaiting(threadId);
  }, BEGINS_MS);
}

/** Stops an answer, or takes back one that has not begun: its question then goes along with the next. */
export async function cancelAnswer(threadId: string, messageId: string): Promise<void> {
  await onyx.threads.cancelMessage(messageId);
  await refreshWaiting(threadId);
}

/** The message that is being answered: all answers to it stop by its name. */
export function questionAtWork(threadId: string): string | undefined {
  const { conversations, pending } = getState();
  const { live, turns = [] } = conversations[threadId] ?? {};
  const logged = turns.findLast((turn) => turn.type === 'user' && turn.runId === live?.runId)?.id;
  return logged ?? pending.find((item) => item.sessionId === threadId && item.turnId !== undefined)?.turnId;
}
