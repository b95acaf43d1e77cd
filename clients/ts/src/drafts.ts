import { checkOneOf, route } from './check.js';
import { OnyxError } from './error.js';
import type { Http } from './http.js';
import { serverSentEvents } from './lines.js';
import { sleep } from './sleep.js';
import type { ApprovalScope, Draft, DraftState } from './types.js';
import type { Sent } from './wire.js';

const RETRY_FIRST_MS = 200;
const RETRY_LONGEST_MS = 5_000;

export class Drafts {
  constructor(private readonly http: Http) {}

  async list(
    filter: { state?: DraftState; session?: string; before?: string; limit?: number } = {},
  ): Promise<{ drafts: Draft[]; before?: string }> {
    return this.http.json('/api/pending-changes', { query: filter });
  }

  async get(id: string): Promise<Draft> {
    return this.http.json(route`/api/pending-changes/${{ id }}`);
  }

  /** With `planHash`, only the reviewed change is approved. `reason` answers a question. */
  async approve(
    id: string,
    options: { scope?: ApprovalScope; planHash?: string; reason?: string } = {},
  ): Promise<Draft> {
    const { scope, planHash, reason } = options;
    checkOneOf('scope', scope, ['once', 'run']);
    const body: Partial<Sent<'DraftDecision'>> = { scope, plan_hash: planHash, reason };
    return this.http.json(route`/api/pending-changes/${{ id }}/approve`, { body });
  }

  async reject(id: string, options: { reason?: string } = {}): Promise<Draft> {
    return this.http.json(route`/api/pending-changes/${{ id }}/reject`, { body: options });
  }

  /** Yields every new or changed draft until the signal aborts. It reconnects automatically. */
  async *events({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<Draft> {
    let pause = RETRY_FIRST_MS;
    for (;;) {
      try {
        const response = await this.http.response('/api/pending-changes/events', { signal });
        for await (const { data } of response.body ? serverSentEvents(response.body) : []) {
          pause = RETRY_FIRST_MS;
          yield JSON.parse(data) as Draft;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof OnyxError && !error.isOffline) throw error;
      }
      await sleep(pause, signal);
      pause = Math.min(pause * 2, RETRY_LONGEST_MS);
    }
  }

  /** Lists the drafts that members may not approve themselves; for the owner. */
  async ofMembers(): Promise<Draft[]> {
    return (await this.http.json<{ drafts: Draft[] }>('/api/admin/pending-changes')).drafts;
  }

  /** The owner's decision on a member's draft. */
  async decideFor(
    person: string,
    id: string,
    decision: 'approve' | 'reject',
    options: { planHash?: string; reason?: string } = {},
  ): Promise<Draft> {
    const { planHash, reason } = options;
    const body = decision === 'approve' ? { plan_hash: planHash, reason } : { reason };
    return this.http.json(route`/api/admin/pending-changes/${{ person }}/${{ id }}/${{ decision }}`, { body });
  }
}
