import { checkUuid, route } from './check.js';
import type { Http } from './http.js';
import { runLines, type RunLine } from './run-lines.js';
import type { Schema, Sent } from './wire.js';

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
export type ActionLine = RunLine;

export class Actions {
  constructor(private readonly http: Http) {}

  /** Every file of the folder, broken ones with why they do not run. */
  async list(): Promise<Action[]> {
    return this.http.json('/api/agent/actions');
  }

  /** What the agent would be told if it ran now. */
  async prompt(id: string, selection?: string): Promise<string> {
    const path = route`/api/agent/actions/${{ id }}/prompt`;
    return (await this.http.json<{ prompt: string }>(path, { body: { selection } })).prompt;
  }

  /** What became of actions, newest first; `before` of an answer gives the rest. */
  async past(page: { before?: string; limit?: number } = {}): Promise<{ runs: PastAction[]; before?: string }> {
    return this.http.json('/api/agent/action-runs', { query: page });
  }

  /** Runs it; its first line is `start`, its last `done`. Leaving the loop, or aborting, stops the run. */
  async *run(id: string, request: ActionRequest = {}, signal?: AbortSignal): AsyncGenerator<ActionLine> {
    checkUuid('sessionId', request.sessionId);
    yield* runLines(this.http, route`/api/agent/actions/${{ id }}/run`, bodyOf(request), signal);
  }
}

const bodyOf = ({ sessionId, confirm, dryRun, selection }: ActionRequest): Partial<Sent<'RunAction'>> => ({
  session_id: sessionId,
  confirm,
  dry_run: dryRun,
  selection,
});
