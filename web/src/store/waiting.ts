// Words that are not in a log yet, and who has been asked to answer them. Pure.

import type { QueuedMessage, ThreadMessage } from '@onyx/sdk';
import { yetToSpeak, type Answer, type Live, type Message, type Words } from './messages';
import type { Pending } from './state';

/** What is not in the log: the words that began the run at work before its answers, all others after them. */
export function arranged(
  waiting: Pending[],
  live: Live | undefined,
  inLog: ReadonlySet<string | null | undefined>,
): Message[] {
  // Which message of a thread a run answers it does not say; they are answered in the order in which they came.
  const isNew = live !== undefined && !inLog.has(live.runId) && !waiting.some((item) => item.runId === live.runId);
  const next = isNew ? waiting.find((item) => item.thread && item.turnId)?.key : undefined;
  const isQuestion = (item: Pending) =>
    item.key === next || (item.state !== 'queued' && item.runId !== undefined && item.runId === live?.runId);
  const isThere = (item: Pending) => item.state !== 'queued' && item.runId !== undefined && inLog.has(item.runId);
  const question = waiting.filter((item) => isQuestion(item) && !isThere(item));
  const after = waiting.filter((item) => !isQuestion(item) && !isThere(item));
  const hasWords = (item: Pending) => item.content !== '';
  return [
    ...question.filter(hasWords).map((item) => words(item, true)),
    ...(live ? [...live.answers, ...yetToSpeak(live)] : []),
    ...after.filter(hasWords).flatMap((item) => [words(item, !live), ...typing(item)]),
  ];
}

function words(item: Pending, isNext: boolean): Words {
  const { key, content, at: ts, runId, state, fault, turnId, thread } = item;
  if (!thread || turnId === undefined) return { kind: 'words', id: key, content, ts, runId, state, fault, turnId };
  const [first] = thread.answering ?? [];
  if (first === undefined) return { kind: 'words', id: turnId, content, ts, state: 'unanswered', turnId };
  if (isNext) return { kind: 'words', id: turnId, content, ts, state: 'stored' };
  return { kind: 'words', id: turnId, content, ts, state: 'queued', promised: `${turnId}.${first}` };
}

/** Those who have been asked, before anything came from them. */
function typing({ turnId, thread }: Pending): Answer[] {
  if (turnId === undefined) return [];
  return (thread?.answering ?? []).map((agent) => ({
    kind: 'answer',
    id: `${turnId}.${agent}`,
    agent,
    parts: [],
    state: 'running',
  }));
}

/** What the server says waits, beside what this browser said itself. */
export function withQueued(
  waiting: Pending[],
  sessionId: string,
  queued: QueuedMessage[],
  live: Live | undefined,
): Pending[] {
  const own = new Set(waiting.map((item) => item.queuedTurn));
  const others = queued.filter(({ id }) => !own.has(id));
  const state = live ? 'queued' : 'unread';
  return [
    ...others.map(
      ({ id, content, receivedAt }): Pending => ({
        key: id,
        sessionId,
        content,
        request: {},
        at: receivedAt,
        state,
      }),
    ),
    ...waiting,
  ];
}

/** A coworker's second try at a message stands in the place of the first. */
export function lastTries(messages: Message[]): Message[] {
  const nameOf = (message: Message) =>
    message.kind === 'answer' && message.asked ? `${message.asked}.${message.agent}` : undefined;
  const last = new Map(messages.map((message) => [nameOf(message), message]));
  return messages.filter((message) => {
    const name = nameOf(message);
    return name === undefined || last.get(name) === message || (message.kind === 'answer' && message.state === 'done');
  });
}

/** Words whose fate was not known, if the server has them: the message they became. Ids are in the order of time. */
export function foundAgain(messages: ThreadMessage[], words: string, after: string): ThreadMessage | undefined {
  return messages.find((message) => message.role === 'user' && message.id > after && message.content === words);
}

/** Who has undertaken to answer a message. */
export const promisedTo = (messages: ThreadMessage[], question: string) =>
  messages
    .filter((message) => message.status === 'streaming' && message.id.startsWith(`${question}.`))
    .map((message) => message.author);

/** The person's messages that stand in no log and have no answer yet, as words on their way. */
export function waitingOf(threadId: string, messages: ThreadMessage[], logged: ReadonlySet<string>): Pending[] {
  const answered = (id: string) =>
    messages.some((message) => message.status !== 'streaming' && message.id.startsWith(`${id}.`));
  return messages
    .filter((message) => message.role === 'user' && !logged.has(message.id) && !answered(message.id))
    .map((message) => ({
      key: message.id,
      turnId: message.id,
      sessionId: threadId,
      content: message.content,
      request: {},
      at: message.createdAt,
      state: 'sending',
      thread: { answering: promisedTo(messages, message.id) },
    }));
}
