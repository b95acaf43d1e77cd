import { checkOneOf, route } from './check.js';
import type { Http } from './http.js';
import type {
  EntityRef,
  Feedback,
  QueuedMessage,
  Rating,
  Session,
  SessionFilter,
  SessionList,
  SessionStatus,
  Tag,
  TurnPage,
} from './types.js';

export class Sessions {
  constructor(private readonly http: Http) {}

  async list(filter: SessionFilter = {}): Promise<SessionList> {
    return this.http.json('/v1/sessions', { query: filter });
  }

  /** All sessions, page by page. */
  async *each(filter: Omit<SessionFilter, 'before'> = {}): AsyncGenerator<Session> {
    let before: string | undefined;
    do {
      const page = await this.list({ ...filter, before });
      yield* page.sessions;
      before = page.before ?? undefined;
    } while (before !== undefined);
  }

  async get(id: string): Promise<Session> {
    return this.http.json(route`/v1/sessions/${{ id }}`);
  }

  async turns(id: string, page: { before?: number; limit?: number } = {}): Promise<TurnPage> {
    return this.http.json(route`/v1/sessions/${{ id }}/turns`, { query: page });
  }

  async update(
    id: string,
    change: {
      title?: string;
      status?: SessionStatus;
      agents?: string[];
      mode?: Session['mode'];
      pinned?: boolean;
      tags?: string[];
      /** What the session is attached to; `null` detaches it. */
      attached?: EntityRef | null;
    },
  ): Promise<Session> {
    checkOneOf('status', change.status, ['active', 'archived']);
    return this.http.json(route`/v1/sessions/${{ id }}`, { method: 'PATCH', body: change });
  }

  /** The tags of the person's conversations. */
  async tags(): Promise<Tag[]> {
    return (await this.http.json<{ tags: Tag[] }>('/v1/tags')).tags;
  }

  /** Rates an answer, named by one of its text turns. Without a rating, the old one is removed. */
  async rate(id: string, turnId: string, feedback: { rating?: Rating; note?: string }): Promise<Feedback> {
    return this.http.json(route`/v1/sessions/${{ id }}/turns/${{ turnId }}/feedback`, {
      method: 'PUT',
      body: feedback,
    });
  }

  /** The sessions attached to a page, task, ref or project, newest first. */
  async about({ space, kind, id }: EntityRef): Promise<Session[]> {
    const path = route`/api/spaces/${{ space }}/${{ kind: `${kind}s` }}/${{ id }}/conversations`;
    return (await this.http.json<{ sessions: Session[] }>(path)).sessions;
  }

  async remove(id: string): Promise<void> {
    return this.http.json(route`/v1/sessions/${{ id }}`, { method: 'DELETE' });
  }

  /** Marks the session as read on every device. */
  async markRead(id: string): Promise<void> {
    await this.http.response(route`/v1/sessions/${{ id }}/read`, { method: 'PUT', body: {} });
  }

  /** Messages that no run has read yet, for example because it was stopped. */
  async queued(id: string): Promise<QueuedMessage[]> {
    return (await this.http.json<{ messages: QueuedMessage[] }>(route`/v1/sessions/${{ id }}/queued`)).messages;
  }

  async discardQueued(id: string, message: string): Promise<void> {
    return this.http.json(route`/v1/sessions/${{ id }}/queued/${{ message }}`, { method: 'DELETE' });
  }

  async fork(id: string, turnId: string): Promise<Session> {
    return this.http.json(route`/v1/sessions/${{ id }}/fork`, { body: { turn_id: turnId } });
  }

  async export(id: string, format: 'markdown' | 'jsonl'): Promise<string> {
    checkOneOf('format', format, ['markdown', 'jsonl']);
    return this.http.text(route`/v1/sessions/${{ id }}/export`, { query: { format } });
  }
}
