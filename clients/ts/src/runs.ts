import { route } from './check.js';
import { OnyxError, interrupted } from './error.js';
import type { Http } from './http.js';
import { serverSentEvents } from './lines.js';
import { sleep } from './sleep.js';
import type { EventEnvelope, RunChanges, RunEvent } from './types.js';

const RETRY_FIRST_MS = 200;
const RETRY_LONGEST_MS = 5_000;

export class Runs {
  constructor(private readonly http: Http) {}

  /**
   * Yields the events of a run after `after`, then new ones until it is done. A lost connection is
   * resumed where it broke off, for ever, or at most `patience` times in a row without anything new.
   */
  async *events(
    runId: string,
    options: { after?: number; patience?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<EventEnvelope> {
    let patience = options.patience ?? Infinity;
    let last = options.after ?? 0;
    let sessionId = '';
    let pause = RETRY_FIRST_MS;
    const texts = new TextsReceived(last > 0);
    for (;;) {
      try {
        const response = await this.http.response(route`/api/runs/${{ runId }}/events`, {
          headers: last > 0 ? { 'last-event-id': `${runId}:${last}` } : {},
          signal: options.signal,
        });
        if (response.body) {
          for await (const { data } of serverSentEvents(response.body)) {
            const envelope = fromEnvelope(JSON.parse(data), sessionId);
            if (envelope.seq <= last) continue;
            last = envelope.seq;
            sessionId = envelope.sessionId;
            pause = RETRY_FIRST_MS;
            patience = options.patience ?? Infinity;
            if (!texts.adds(envelope.event)) continue;
            yield envelope;
            if (envelope.event.type === 'done') return;
          }
        }
      } catch (error) {
        options.signal?.throwIfAborted();
        if (error instanceof OnyxError && !error.isOffline) throw error;
      }
      if ((patience -= 1) <= 0) throw interrupted({ sessionId, runId });
      await sleep(pause, options.signal);
      pause = Math.min(pause * 2, RETRY_LONGEST_MS);
    }
  }

  async cancel(runId: string): Promise<boolean> {
    const { stopped } = await this.http.json<{ stopped: boolean }>(route`/api/runs/${{ runId }}/cancel`, { body: {} });
    return stopped;
  }

  /** Undoes a run's file changes; returns the restored paths, or with `dryRun` those that would be. */
  async undo(runId: string, options: { dryRun?: boolean } = {}): Promise<string[]> {
    const { restored } = await this.http.json<{ restored: string[] }>(route`/api/runs/${{ runId }}/undo`, {
      query: { dry_run: options.dryRun },
      body: {},
    });
    return restored;
  }

  /** Redoes undone changes; returns the paths. */
  async redo(runId: string): Promise<string[]> {
    const { restored } = await this.http.json<{ restored: string[] }>(route`/api/runs/${{ runId }}/redo`, { body: {} });
    return restored;
  }

  /** The whole of a tool's long output, by the `artifact` of its report. */
  async artifact(key: string): Promise<string> {
    return this.http.text(route`/api/artifacts/${{ key }}`);
  }

  async changes(runId: string): Promise<RunChanges> {
    return this.http.json(route`/api/runs/${{ runId }}/changes`);
  }
}

/** An event envelope in the form that callers see. */
function fromEnvelope(raw: Record<string, unknown>, sessionId: string): EventEnvelope {
  const { seq, runId, agent, type, lane: _lane, ...fields } = raw;
  const names: Record<string, string> = { text_delta: 'delta', reasoning_delta: 'reasoning' };
  const event = { ...fields, type: names[String(type)] ?? type } as unknown as RunEvent;
  return {
    sessionId: String(fields['sessionId'] ?? sessionId),
    runId: String(runId),
    seq: Number(seq),
    agent: agent === undefined ? undefined : String(agent),
    event,
  };
}

/** A completed text repeats its deltas; only the part that they did not contain is a new delta. */
class TextsReceived {
  private readonly lengths = new Map<string, number>();

  constructor(private readonly beganInTheMiddle: boolean) {}

  adds(event: RunEvent | { type: 'text_complete'; turnId: string; text: string }): boolean {
    if (event.type === 'delta') {
      this.lengths.set(event.turnId, (this.lengths.get(event.turnId) ?? 0) + event.text.length);
    }
    if (event.type !== 'text_complete') return true;
    const known = this.lengths.get(event.turnId) ?? (this.beganInTheMiddle ? event.text.length : 0);
    const whole = event as { type: string; text: string };
    whole.type = 'delta';
    whole.text = event.text.slice(known);
    return whole.text !== '';
  }
}
