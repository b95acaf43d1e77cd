import { OnyxError, interrupted } from './error.js';
import type { Http } from './http.js';
import { lines } from './lines.js';
import { Runs } from './runs.js';
import type {
  ActionOfRun,
  AsksFor,
  CallLabel,
  CallReport,
  EventEnvelope,
  Fault,
  Preview,
  RunEvent,
  RunStatus,
  Usage,
} from './types.js';

/** The lines that a run sends to its caller. */
export type RunLine =
  | { type: 'start'; sessionId: string; runId: string; action?: ActionOfRun }
  | { type: 'text'; delta: string }
  | { type: 'tool_call'; id: string; tool: string; args: unknown; label: CallLabel }
  | { type: 'tool_result'; id: string; tool: string; ok: boolean; summary: string; report: CallReport }
  | { type: 'status'; message: string; code: string }
  | { type: 'draft' | 'confirm'; draftId: string; tool: string; summary: string; preview: Preview; asksFor: AsksFor }
  | ({ type: 'error' } & Fault)
  | { type: 'done'; sessionId: string; runId: string; status: RunStatus; usage: Usage };

/** How often the events of a run are requested without anything new before giving up. */
const PATIENCE = 6;

/**
 * Starts a run and yields its lines up to `done`. The run belongs to its caller: leaving the loop, or aborting, stops it.
 * When the connection is cut, the rest is read from the events of the run. If the server noticed the cut first, it has
 * stopped the run: that is `interrupted`, never a short answer that looks whole.
 */
export async function* runLines(http: Http, path: string, body: object, signal?: AbortSignal): AsyncGenerator<RunLine> {
  const response = await http.response(path, { body, signal });
  const received = new LinesReceived();
  let runId: string | undefined;
  try {
    for await (const text of response.body ? lines(response.body) : []) {
      if (text.trim() === '') continue;
      const line = JSON.parse(text) as RunLine;
      if (line.type === 'start') runId = line.runId;
      received.note(line);
      yield line;
      if (line.type === 'done') return;
    }
  } catch (error) {
    // A line that was cut is not valid JSON; any other error is the caller's.
    if (signal?.aborted || error instanceof OnyxError) throw error;
  }
  if (runId === undefined) throw interrupted();
  yield* rest(http, runId, received, signal);
}

async function* rest(
  http: Http,
  runId: string,
  received: LinesReceived,
  signal?: AbortSignal,
): AsyncGenerator<RunLine> {
  for await (const envelope of new Runs(http).events(runId, { patience: PATIENCE, signal })) {
    const line = received.news(lineOf(envelope));
    if (!line) continue;
    if (line.type === 'done' && (line.status === 'cancelled' || line.status === 'interrupted')) {
      throw interrupted({ sessionId: line.sessionId, runId });
    }
    yield line;
  }
}

/** How much of each kind has arrived. The events of a run repeat it in the same order. */
class LinesReceived {
  private readonly counts = new Map<string, number>();
  private readonly skipped = new Map<string, number>();

  note(line: RunLine): void {
    this.counts.set(line.type, (this.counts.get(line.type) ?? 0) + sizeOf(line));
  }

  /** The part of a line that has not arrived before. */
  news(line: RunLine | undefined): RunLine | undefined {
    if (!line) return undefined;
    const before = this.skipped.get(line.type) ?? 0;
    const known = Math.max(0, (this.counts.get(line.type) ?? 0) - before);
    this.skipped.set(line.type, before + sizeOf(line));
    if (known === 0) return line;
    if (line.type !== 'text' || known >= line.delta.length) return undefined;
    return { type: 'text', delta: line.delta.slice(known) };
  }
}

const sizeOf = (line: RunLine) => (line.type === 'text' ? line.delta.length : 1);

function lineOf({ event, sessionId, runId }: EventEnvelope): RunLine | undefined {
  switch (event.type) {
    case 'start':
      return { type: 'start', sessionId, runId, action: event.action };
    case 'delta':
      return { type: 'text', delta: event.text };
    case 'tool_call':
      return { type: 'tool_call', id: event.toolUseId, tool: event.tool, args: event.input, label: event.label };
    case 'tool_result':
      return { ...pick(event), id: event.toolUseId };
    case 'status':
    case 'draft':
    case 'confirm':
    case 'error':
      return event;
    case 'done':
      return { type: 'done', sessionId, runId, status: event.status, usage: event.usage };
    case 'reasoning':
    case 'tool_output':
    case 'context':
    case 'usage':
      return undefined;
  }
}

function pick({ type, tool, ok, summary, report }: Extract<RunEvent, { type: 'tool_result' }>) {
  return { type, tool, ok, summary, report };
}
