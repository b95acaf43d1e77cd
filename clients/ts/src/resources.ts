import { OnyxError } from './error';
import type { Http } from './http';
import { lines } from './lines';
import type {
  ApprovalScope,
  ChatChunk,
  ChatRequest,
  Draft,
  DraftState,
  EntityRef,
  Fault,
  Feedback,
  QueuedMessage,
  Rating,
  RunStatus,
  Session,
  SessionFilter,
  SessionList,
  SessionStatus,
  Tag,
  TurnPage,
  Usage,
} from './types';
import type { Sent } from './wire';

type Line =
  | { type: 'text'; delta: string }
  | ({ type: 'error' } & Fault)
  | { type: 'done'; sessionId: string; runId: string; status: RunStatus; usage: Usage }
  | { type: 'start' | 'status' | 'tool_call' | 'tool_result' | 'draft' | 'confirm' };

export class Chat {
  constructor(private readonly http: Http) {}

  /** The words of an answer as they come. Leaving the loop, or aborting, stops the run. */
  async *stream(request: ChatRequest, options: { signal?: AbortSignal } = {}): AsyncGenerator<ChatChunk> {
    const { message, sessionId, agent, dryRun } = request;
    const body: Partial<Sent<'ChatRequest'>> = { message, session_id: sessionId, agent, dry_run: dryRun };
    const call = { body, signal: options.signal };
    const response = await this.http.response('/api/agent/chat-stream', call);
    if (!response.body) return;
    let fault: Fault | undefined;
    for await (const text of lines(response.body)) {
      if (text.trim() === '') continue;
      const line = JSON.parse(text) as Line;
      if (line.type === 'text') yield { type: 'chunk', text: line.delta };
      else if (line.type === 'error') fault = line;
      else if (line.type === 'done') {
        if (fault && line.status === 'error') throw new OnyxError(fault);
        const { sessionId, runId, usage } = line;
        yield { type: 'done', finishReason: line.status, sessionId, runId, usage };
        return;
      }
    }
    throw new OnyxError({
      code: 'interrupted',
      message: 'The answer broke off before its end.',
      hint: 'Send the message again; what was finished is kept.',
    });
  }
}

export class Sessions {
  constructor(private readonly http: Http) {}

  list(filter: SessionFilter = {}): Promise<SessionList> {
    return this.http.json('/v1/sessions', { query: filter });
  }

  get(id: string): Promise<Session> {
    return this.http.json(`/v1/sessions/${id}`);
  }

  turns(id: string, page: { before?: number; limit?: number } = {}): Promise<TurnPage> {
    return this.http.json(`/v1/sessions/${id}/turns`, { query: page });
  }

  update(
    id: string,
    change: {
      title?: string;
      status?: SessionStatus;
      agents?: string[];
      mode?: Session['mode'];
      pinned?: boolean;
      tags?: string[];
      /** `null` detaches it. */
      attached?: EntityRef | null;
    },
  ): Promise<Session> {
    return this.http.json(`/v1/sessions/${id}`, { method: 'PATCH', body: change });
  }

  /** The tags of the person's conversations. */
  async tags(): Promise<Tag[]> {
    return (await this.http.json<{ tags: Tag[] }>('/v1/tags')).tags;
  }

  /** What the person thinks of an answer, named by a text of it. Without a rating it is taken back. */
  rate(id: string, turnId: string, feedback: { rating?: Rating; note?: string }): Promise<Feedback> {
    return this.http.json(`/v1/sessions/${id}/turns/${turnId}/feedback`, { method: 'PUT', body: feedback });
  }

  /** Those that are attached to a page, task, ref or project, newest first. */
  async about({ space, kind, id }: EntityRef): Promise<Session[]> {
    const path = `/api/spaces/${space}/${kind}s/${encodeURIComponent(id)}/conversations`;
    return (await this.http.json<{ sessions: Session[] }>(path)).sessions;
  }

  remove(id: string): Promise<void> {
    return this.http.json(`/v1/sessions/${id}`, { method: 'DELETE' });
  }

  /** The person has read it; other devices hear of it. */
  async markRead(id: string): Promise<void> {
    await this.http.response(`/v1/sessions/${id}/read`, { method: 'PUT', body: {} });
  }

  /** Messages that no run has read yet, for instance since it was stopped. */
  async queued(id: string): Promise<QueuedMessage[]> {
    return (await this.http.json<{ messages: QueuedMessage[] }>(`/v1/sessions/${id}/queued`)).messages;
  }

  discardQueued(id: string, message: string): Promise<void> {
    return this.http.json(`/v1/sessions/${id}/queued/${message}`, { method: 'DELETE' });
  }

  fork(id: string, turnId: string): Promise<Session> {
    return this.http.json(`/v1/sessions/${id}/fork`, { body: { turn_id: turnId } });
  }

  export(id: string, format: 'markdown' | 'jsonl'): Promise<string> {
    return this.http.text(`/v1/sessions/${id}/export`, { query: { format } });
  }
}

export class Drafts {
  constructor(private readonly http: Http) {}

  list(
    filter: { state?: DraftState; session?: string; before?: string; limit?: number } = {},
  ): Promise<{ drafts: Draft[]; before?: string }> {
    return this.http.json('/api/pending-changes', { query: filter });
  }

  get(id: string): Promise<Draft> {
    return this.http.json(`/api/pending-changes/${id}`);
  }

  /** With the `planHash` of what was looked at, nothing else is approved. */
  approve(id: string, options: { scope?: ApprovalScope; planHash?: string; reason?: string } = {}): Promise<Draft> {
    const { scope, planHash, reason } = options;
    const body: Partial<Sent<'DraftDecision'>> = { scope, plan_hash: planHash, reason };
    return this.http.json(`/api/pending-changes/${id}/approve`, { body });
  }

  reject(id: string, options: { reason?: string } = {}): Promise<Draft> {
    return this.http.json(`/api/pending-changes/${id}/reject`, { body: options });
  }

  /** For the owner: what members may not approve for themselves. */
  async ofMembers(): Promise<Draft[]> {
    return (await this.http.json<{ drafts: Draft[] }>('/api/admin/pending-changes')).drafts;
  }

  /** The owner's decision on a member's draft. */
  decideFor(
    person: string,
    id: string,
    decision: 'approve' | 'reject',
    options: { planHash?: string; reason?: string } = {},
  ): Promise<Draft> {
    const { planHash, reason } = options;
    const body = decision === 'approve' ? { plan_hash: planHash, reason } : { reason };
    return this.http.json(`/api/admin/pending-changes/${person}/${id}/${decision}`, { body });
  }
}
