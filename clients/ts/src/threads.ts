import { checkText, route } from './check.js';
import { OnyxError } from './error.js';
import type { Http } from './http.js';
import { serverSentEvents } from './lines.js';
import { sleep } from './sleep.js';
import type { Schema } from './wire.js';

const RETRY_FIRST_MS = 200;
const RETRY_LONGEST_MS = 5_000;

/** A conversation of a channel. Its id is the id of its session. */
export type Thread = Schema<'ThreadView'>;
/** The `id` of an answer is `<question>.<agent>`, known before the answer exists. */
export type ThreadMessage = Schema<'ConversationMessage'>;
/** What retrieval would supply to a message. */
export type ThreadContext = Schema<'ThreadContext'>;
export type ThreadContextPiece = Schema<'ThreadContextPiece'>;

export type Chunk = Extract<Schema<'ThreadEvent'>, { fullContent: string }>;
export type Complete = Extract<Schema<'ThreadEvent'>, { content: string }>;

export interface ThreadError {
  messageId: string;
  error: { code: string; message: string; hint: string } | string;
}

/** An answer waits for a person, who decides through `drafts`. */
export type ThreadConfirm = Schema<'ThreadConfirm'>;

interface ThreadEvents {
  'chat:chunk': Chunk;
  'chat:complete': Complete;
  'chat:error': ThreadError;
  confirm: ThreadConfirm;
}

type Listener = {
  [Name in keyof ThreadEvents]: { name: Name; call: (event: ThreadEvents[Name]) => void };
}[keyof ThreadEvents];

interface Feed {
  listeners: Set<Listener>;
  abort: AbortController;
}

/** Threads with coworkers. All listeners of a thread share one stream, which reconnects automatically. */
export class Threads {
  private readonly feeds = new Map<string, Feed>();

  constructor(private readonly http: Http) {}

  /** Lists threads, newest first. */
  async list(filter: { channel?: string } = {}): Promise<Thread[]> {
    return (await this.http.json<{ threads: Thread[] }>('/api/threads', { query: filter })).threads;
  }

  async get(id: string): Promise<Thread> {
    return this.http.json(route`/api/threads/${{ id }}`);
  }

  async create(thread: { channel: string; title: string }): Promise<Thread> {
    return this.http.json('/api/threads', { body: thread });
  }

  async rename(id: string, title: string): Promise<Thread> {
    return this.http.json(route`/api/threads/${{ id }}`, { method: 'PATCH', body: { title } });
  }

  async remove(id: string): Promise<void> {
    return this.http.json(route`/api/threads/${{ id }}`, { method: 'DELETE' });
  }

  /** What retrieval would supply, best first, each piece with its source, lines and text. */
  async context(id: string, q: string, signal?: AbortSignal): Promise<ThreadContext> {
    return this.http.json(route`/api/threads/${{ id }}/context`, { query: { q }, signal });
  }

  /** The agents that would answer a message with this text, in their order. */
  async answerers(id: string, q: string, signal?: AbortSignal): Promise<string[]> {
    const path = route`/api/threads/${{ id }}/answerers`;
    return (await this.http.json<{ agents: string[] }>(path, { query: { q }, signal })).agents;
  }

  /** Stores the message and starts the coworkers; the listeners receive their answers. */
  async sendMessage(
    threadId: string,
    content: string,
  ): Promise<{ userMessage: ThreadMessage; assistantMessages: ThreadMessage[] }> {
    checkText('content', content);
    return this.http.json(route`/api/threads/${{ threadId }}/messages`, { body: { content } });
  }

  /** The newest messages, or those before a message of the person; oldest first. */
  async messages(threadId: string, page: { before?: string; limit?: number } = {}): Promise<ThreadMessage[]> {
    const { messages } = await this.http.json<{ messages: ThreadMessage[] }>(
      route`/api/threads/${{ threadId }}/messages`,
      {
        query: page,
      },
    );
    return messages;
  }

  async cancelMessage(messageId: string): Promise<void> {
    await this.http.json(route`/api/messages/${{ messageId }}/cancel`, { body: {} });
  }

  onChunk(threadId: string, call: (event: Chunk) => void): () => void {
    return this.listen(threadId, { name: 'chat:chunk', call });
  }

  onComplete(threadId: string, call: (event: Complete) => void): () => void {
    return this.listen(threadId, { name: 'chat:complete', call });
  }

  onError(threadId: string, call: (event: ThreadError) => void): () => void {
    return this.listen(threadId, { name: 'chat:error', call });
  }

  onConfirm(threadId: string, call: (event: ThreadConfirm) => void): () => void {
    return this.listen(threadId, { name: 'confirm', call });
  }

  private listen(threadId: string, listener: Listener): () => void {
    let feed = this.feeds.get(threadId);
    if (!feed) {
      feed = { listeners: new Set(), abort: new AbortController() };
      this.feeds.set(threadId, feed);
      void this.follow(threadId, feed);
    }
    const { listeners, abort } = feed;
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      abort.abort();
      if (this.feeds.get(threadId)?.listeners === listeners) this.feeds.delete(threadId);
    };
  }

  private async follow(threadId: string, feed: Feed): Promise<void> {
    const { signal } = feed.abort;
    let last: string | undefined;
    let pause = RETRY_FIRST_MS;
    while (!signal.aborted) {
      try {
        const headers: Record<string, string> = last === undefined ? {} : { 'last-event-id': last };
        const response = await this.http.response(route`/api/threads/${{ threadId }}/events`, { headers, signal });
        if (response.body) {
          for await (const { id, event, data } of serverSentEvents(response.body)) {
            last = id ?? last;
            pause = RETRY_FIRST_MS;
            tell(feed, event, data);
          }
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof OnyxError && !error.isOffline) return giveUp(feed, error);
      }
      await sleep(pause, signal).catch(() => undefined);
      pause = Math.min(pause * 2, RETRY_LONGEST_MS);
    }
  }
}

function tell(feed: Feed, name: string | undefined, data: string): void {
  const event = JSON.parse(data) as never;
  for (const listener of feed.listeners) if (listener.name === name) listener.call(event);
}

function giveUp(feed: Feed, { code, message, hint }: OnyxError): void {
  for (const listener of feed.listeners)
    if (listener.name === 'chat:error') listener.call({ messageId: '', error: { code, message, hint } });
}
