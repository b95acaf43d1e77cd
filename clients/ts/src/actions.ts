import { OnyxError } from './error';
import type { Http } from './http';
import { lines } from './lines';
import type { ActionOfRun, AsksFor, CallLabel, CallReport, Fault, Preview, RunStatus, Usage } from './types';
import type { Schema, Sent } from './wire';

/** A prompt file of the person's vault that can be run. */
export type Action = Schema<'ActionView'>;

/** A run of an action that is over, and what its page says. */
export type PastAction = Schema<'ActionRunView'>;

export interface ActionRequest {
  /** Where it is said; a new chat if nowhere. */
  sessionId?: string;
  /** The person has agreed to what the action may do. */
  confirm?: boolean;
  /** Nothing is done; what would be is told. */
  dryRun?: boolean;
  /** What `{{selection}}` stands for. */
  selection?: string;
}

/** What a run tells, line by line. */
export type ActionLine =
  | { type: 'start'; sessionId: string; runId: string; action?: ActionOfRun }
  | { type: 'text'; delta: string }
  | { type: 'tool_call'; id: string; tool: string; args: unknown; label: CallLabel }
  | { type: 'tool_result'; id: string; tool: string; ok: boolean; summary: string; report: CallReport }
  | { type: 'status'; message: string; code: string }
  | { type: 'draft' | 'confirm'; draftId: string; tool: string; summary: string; preview: Preview; asksFor: AsksFor }
  | ({ type: 'error' } & Fault)
  | { type: 'done'; sessionId: string; runId: string; status: RunStatus; usage: Usage };

export class Actions {
  constructor(private readonly http: Http) {}

  /** Every file of the folder, broken ones with why they do not run. */
  list(): Promise<Action[]> {
    return this.http.json('/api/agent/actions');
  }

  /** What the agent would be told if it ran now. */
  async prompt(id: string, selection?: string): Promise<string> {
    const path = `/api/agent/actions/${encodeURIComponent(id)}/prompt`;
    return (await this.http.json<{ prompt: string }>(path, { body: { selection } })).prompt;
  }

  /** What became of actions, newest first; `before` of an answer gives the rest. */
  past(page: { before?: string; limit?: number } = {}): Promise<{ runs: PastAction[]; before?: string }> {
    return this.http.json('/api/agent/action-runs', { query: page });
  }

  /** Runs it; its first line is `start`, its last `done`. Leaving the loop, or aborting, stops the run. */
  async *run(id: string, request: ActionRequest = {}, signal?: AbortSignal): AsyncGenerator<ActionLine> {
    const response = await this.http.response(`/api/agent/actions/${encodeURIComponent(id)}/run`, {
      body: bodyOf(request),
      signal,
    });
    if (response.body) {
      for await (const text of lines(response.body)) {
        if (text.trim() === '') continue;
        const line = JSON.parse(text) as ActionLine;
        yield line;
        if (line.type === 'done') return;
      }
    }
    throw new OnyxError({
      code: 'interrupted',
      message: 'The run broke off before its end.',
      hint: 'Run it again; what was finished is kept.',
    });
  }
}

const bodyOf = ({ sessionId, confirm, dryRun, selection }: ActionRequest): Partial<Sent<'RunAction'>> => ({
  session_id: sessionId,
  confirm,
  dry_run: dryRun,
  selection,
});
