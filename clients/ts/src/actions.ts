import { checkUuid, route } from './check.js';
import type { Http } from './http.js';
import { runLines, type RunLine } from './run-lines.js';
import type { Schema, Sent } from './wire.js';

/** A prompt file of the person's vault that can be run. */
export type Action = Schema<'ActionView'>;

/** A finished run of an action, as its page records it. */
export type PastAction = Schema<'ActionRunView'>;

/**
 * What an action runs with. Without a `sessionId` it runs in a new chat. With `confirm` the person has agreed to what the
 * action may do. In a `dryRun`, tools only report what they would do.
 */
export type ActionRequest = Partial<Schema<'RunAction'>>;

/** The lines of a run. */
export type ActionLine = RunLine;

export class Actions {
  constructor(private readonly http: Http) {}

  /** Every action file; a broken one says why it cannot run. */
  async list(): Promise<Action[]> {
    return this.http.json('/api/agent/actions');
  }

  /** The prompt that the agent would receive now. */
  async prompt(id: string, selection?: string): Promise<string> {
    const path = route`/api/agent/actions/${{ id }}/prompt`;
    return (await this.http.json<{ prompt: string }>(path, { body: { selection } })).prompt;
  }

  /** Past runs of actions, newest first; pass `before` of an answer to get the next page. */
  async past(page: { before?: string; limit?: number } = {}): Promise<{ runs: PastAction[]; before?: string }> {
    return this.http.json('/api/agent/action-runs', { query: page });
  }

  /** Runs the action; the first line is `start`, the last `done`. Leaving the loop, or aborting, stops the run. */
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
