// The companion of a space: the server first stores a message, then it is answered. Components only select state.

import { OnyxError, type Fault, type UserContent, type View } from '@onyx/sdk';
import { create } from 'zustand';
import { toast, useStore, type Pending } from './state';
import { faultOf, loadConversation, onyx } from './client';
import { keptOf, unanswered } from './companion-words';
import { answerQuestion } from './drafts';
import { textOf } from './messages';
import { addPending, changePending, dropPending } from './outbox';

export interface CompanionState {
  phase: 'loading' | 'ready' | 'failed';
  /** The companion's session, once known. */
  conversation?: string;
  agent?: string;
  agentName?: string;
  fault?: Fault;
}

/** Companions by space. */
export const useCompanions = create<Record<string, CompanionState>>(() => ({}));

const LOADING: CompanionState = { phase: 'loading' };
export const useCompanion = (space: string) => useCompanions((state) => state[space] ?? LOADING);

/** Finds or creates the companion and loads its conversation. */
export async function openCompanion(space: string): Promise<void> {
  try {
    const { conversationId: conversation, agent, agentName } = await onyx.spaces.companion(space);
    useCompanions.setState({ [space]: { phase: 'ready', conversation, agent, agentName } });
    await loadConversation(conversation);
    await loadUnanswered(conversation);
  } catch (error) {
    const fault = faultOf(error);
    // The loaded conversation stays; a lost connection is shown elsewhere.
    if (useCompanions.getState()[space]?.conversation === undefined)
      useCompanions.setState({ [space]: { phase: fault.code === 'offline' ? 'loading' : 'failed', fault } });
  }
}

/** Stored messages without an answer are shown after the log. */
async function loadUnanswered(conversation: string): Promise<void> {
  const { messages } = await onyx.spaces.messages(conversation, { limit: 50 });
  const { conversations, pending } = useStore.getState();
  const log = conversations[conversation];
  const known = new Set([
    ...(log?.turns.map((turn) => turn.id) ?? []),
    ...pending.flatMap((item) => item.turnId ?? []),
  ]);
  for (const message of unanswered(messages, known)) {
    addPending({
      key: message.id,
      turnId: message.id,
      sessionId: conversation,
      content: message.content,
      request: {},
      companion: {},
      at: message.createdAt,
      state: log?.live ? 'queued' : 'unanswered',
    });
  }
}

/** Runs the tasks of each conversation one after the other. */
function inTurn(): (conversation: string, task: () => Promise<unknown>) => Promise<unknown> {
  const last = new Map<string, Promise<unknown>>();
  return (conversation, task) => {
    const next = (last.get(conversation) ?? Promise.resolve()).then(task, task);
    last.set(conversation, next);
    return next;
  };
}

/** Messages are stored in the order in which they were said. */
const storeInTurn = inTurn();
/** A message whose answer begins before that of an earlier message would be answered together with it. */
const askInTurn = inTurn();

/** Sends a message to the companion with what the person is looking at. */
export async function sayToCompanion(conversation: string, content: UserContent, view?: View): Promise<void> {
  if (await answerQuestion(conversation, textOf(content))) return;
  const seen = useStore.getState().conversations[conversation]?.turns.at(-1)?.id;
  const item: Pending = {
    key: crypto.randomUUID(),
    sessionId: conversation,
    content: textOf(content),
    request: {},
    companion: { view, seen },
    at: new Date().toISOString(),
    state: 'sending',
  };
  addPending(item);
  void storeInTurn(conversation, () => deliverToCompanion(item));
}

/** Messages being delivered, so that two callers do not send the same one. */
const underWay = new Set<string>();
const RETRY_MS = 1_000;

/** Stores the message, then requests its answer; returns the conversation. */
export async function deliverToCompanion(item: Pending): Promise<string | undefined> {
  const { key, sessionId: conversation, companion } = item;
  if (!conversation || !companion || underWay.has(key)) return undefined;
  underWay.add(key);
  try {
    // If only the server's answer was lost, the message is already stored and must not be sent twice.
    const { messages } = companion.tried ? await onyx.spaces.messages(conversation, { limit: 50 }) : { messages: [] };
    const kept = keptOf(messages, item);
    if (kept?.isAnswered) {
      dropPending(key);
      await loadConversation(conversation);
      return conversation;
    }
    changePending(key, { companion: { ...companion, tried: true } });
    const turnId = kept?.id ?? (await onyx.spaces.post(conversation, textOf(item.content), companion.view));
    const isBusy = useStore.getState().conversations[conversation]?.live !== undefined;
    changePending(key, { turnId, state: isBusy ? 'queued' : 'sending', fault: undefined });
    void answerOf(conversation, turnId);
    return conversation;
  } catch (error) {
    const isOffline = error instanceof OnyxError && error.isOffline;
    changePending(key, isOffline ? { state: 'waiting' } : { state: 'failed', fault: faultOf(error) });
    // The connection may not have noticed the failure, and what waits for its return would wait for ever.
    if (isOffline) setTimeout(() => deliverAgain(key), RETRY_MS);
    return undefined;
  } finally {
    underWay.delete(key);
  }
}

function deliverAgain(key: string): void {
  const { pending, link } = useStore.getState();
  const item = pending.find((one) => one.key === key);
  if (item?.state === 'waiting' && link === 'online') void deliverToCompanion(item);
}

/** Messages whose answers are being requested. */
const asked = new Set<string>();

/**
 * Requests the answer to a message, or a failed answer again. The stream only starts the run: as soon
 * as the run is known, the one connection delivers its events, on any page.
 */
export async function answerOf(conversation: string, messageId: string): Promise<void> {
  if (asked.has(messageId)) return;
  asked.add(messageId);
  const item = useStore.getState().pending.find((one) => one.turnId === messageId && one.state === 'unanswered');
  if (item) changePending(item.key, { state: 'sending', fault: undefined });
  await askInTurn(conversation, () => request(conversation, messageId));
}

/** Requests the answer and returns when its run is known. */
async function request(conversation: string, messageId: string): Promise<void> {
  const ended = new AbortController();
  try {
    for await (const { runId, event } of onyx.spaces.stream(conversation, { messageId, signal: ended.signal })) {
      if (runId !== undefined) {
        if (useStore.getState().conversations[conversation]?.live?.runId !== runId)
          await loadConversation(conversation);
        break;
      }
      if (event.type === 'error') refuse(messageId, event);
    }
  } catch (error) {
    refuse(messageId, faultOf(error));
  } finally {
    ended.abort();
    asked.delete(messageId);
  }
}

/** An own message in the outbox shows why it has no answer; for others a toast does. */
function refuse(messageId: string, { code, message, hint, field }: Fault): void {
  const item = useStore.getState().pending.find((one) => one.turnId === messageId);
  if (item) changePending(item.key, { state: 'unanswered', fault: { code, message, hint, field } });
  else toast(`The message was not answered. ${message} ${hint}`.trim(), { tone: 'danger' });
}
