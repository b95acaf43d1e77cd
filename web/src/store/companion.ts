// The companion of a space: words are kept by the server first, then answered. Whoever shows it only selects.

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
  /** The session it is, once that is known. */
  conversation?: string;
  agent?: string;
  agentName?: string;
  fault?: Fault;
}

/** By space. */
export const useCompanions = create<Record<string, CompanionState>>(() => ({}));

const LOADING: CompanionState = { phase: 'loading' };
export const useCompanion = (space: string) => useCompanions((state) => state[space] ?? LOADING);

/** Finds or makes it, and shows what was said in it. */
export async function openCompanion(space: string): Promise<void> {
  try {
    const { conversationId: conversation, agent, agentName } = await onyx.spaces.companion(space);
    useCompanions.setState({ [space]: { phase: 'ready', conversation, agent, agentName } });
    await loadConversation(conversation);
    await loadUnanswered(conversation);
  } catch (error) {
    const fault = faultOf(error);
    // What is known stays to be read; a lost link is shown as such.
    if (useCompanions.getState()[space]?.conversation === undefined)
      useCompanions.setState({ [space]: { phase: fault.code === 'offline' ? 'loading' : 'failed', fault } });
  }
}

/** Words that the server keeps and that nobody has had answered yet stand after the log. */
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

/** Says something to the companion; what the person looks at goes along. */
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
  void deliverToCompanion(item);
}

/** Words being delivered; the same are not sent from two places at once. */
const underWay = new Set<string>();
const RETRY_MS = 1_000;

/** Has the server keep the words, then has them answered; the conversation they are in. */
export async function deliverToCompanion(item: Pending): Promise<string | undefined> {
  const { key, sessionId: conversation, companion } = item;
  if (!conversation || !companion || underWay.has(key)) return undefined;
  underWay.add(key);
  try {
    // An answer that was lost on its way may have left the words there: they are not said twice.
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
    // The one connection may not have noticed: what waits for it to come back would wait for ever.
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

/** Messages whose answers are being asked for. */
const asked = new Set<string>();

/**
 * Has a message answered, or the answer that did not come asked for again. The stream only sets it
 * to work: as soon as the run is known, the one connection tells the rest, whatever page is shown.
 */
export async function answerOf(conversation: string, messageId: string): Promise<void> {
  if (asked.has(messageId)) return;
  asked.add(messageId);
  const item = useStore.getState().pending.find((one) => one.turnId === messageId && one.state === 'unanswered');
  if (item) changePending(item.key, { state: 'sending', fault: undefined });
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

/** Words of one's own are kept and say why they have no answer; others are in the log already. */
function refuse(messageId: string, { code, message, hint, field }: Fault): void {
  const item = useStore.getState().pending.find((one) => one.turnId === messageId);
  if (item) changePending(item.key, { state: 'unanswered', fault: { code, message, hint, field } });
  else toast(`Not answered. ${message} ${hint}`.trim(), { tone: 'danger' });
}
