// Messages that are not in the log yet, and the agents asked to answer them. Pure.

import type { QueuedMessage, ThreadMessage } from '@onyx/sdk';
import { yetToSpeak, type Live } from './liveRun';
import type { Answer, Message, Words } from './messages';
import type { Pending, Promised } from './state';

/** Messages outside the log: those that started the active run before its answers, all others after them. */
export function arranged(
  waiting: Pending[],
  live: Live | undefined,
  inLog: ReadonlySet<string | null | undefined>,
): Message[] {
  // A run of a thread does not name its message; messages are answered in the order of their arrival.
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
  return { kind: 'words', id: turnId, content, ts, state: 'queued', promised: first.id };
}

/** Placeholders for agents that were asked and have not answered yet. */
function typing({ turnId, thread }: Pending): Answer[] {
  if (turnId === undefined) return [];
  return (thread?.answering ?? []).map(({ id, agent }) => ({
    kind: 'answer',
    id,
    agent,
    parts: [],
    state: 'running',
  }));
}

/** The messages that wait according to the server, besides those of this browser. */
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

/** A coworker's retry of a message replaces the first answer. */
export function lastTries(messages: Message[]): Message[] {
  const nameOf = (message: Message) =>
    message.kind === 'answer' && message.asked ? `${message.asked}.${message.agent}` : undefined;
  const last = new Map(messages.map((message) => [nameOf(message), message]));
  return messages.filter((message) => {
    const name = nameOf(message);
    return name === undefined || last.get(name) === message || (message.kind === 'answer' && message.state === 'done');
  });
}

/** The stored message for an unconfirmed one, if the server has it. Ids are ordered by time. */
export function foundAgain(messages: ThreadMessage[], words: string, after: string): ThreadMessage | undefined {
  return messages.find((message) => message.role === 'user' && message.id > after && message.content === words);
}

/** An answer as the agent promised it. */
export const promiseOf = ({ id, author }: ThreadMessage): Promised => ({ id, agent: author });

/** The promised answers to a message. */
export const promisedTo = (messages: ThreadMessage[], question: string) =>
  messages.filter((message) => message.status === 'streaming' && message.question === question).map(promiseOf);

/** The person's messages without a log entry and an answer, as messages on their way. */
export function waitingOf(threadId: string, messages: ThreadMessage[], logged: ReadonlySet<string>): Pending[] {
  const answered = (id: string) =>
    messages.some((message) => message.status !== 'streaming' && message.question === id);
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
