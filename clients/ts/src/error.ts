import { ERROR_CLASSES } from './generated.js';
import type { Fault } from './types.js';

export type ErrorClass = (typeof ERROR_CLASSES)[keyof typeof ERROR_CLASSES];

/** Where an error with this code comes from; absent for codes of other makers. */
export function classOf(code: string): ErrorClass | undefined {
  return (ERROR_CLASSES as Record<string, ErrorClass>)[code];
}

/** Details of a failure besides its sentences. */
export interface Circumstances {
  /** The server's id of the request; it is in the server's log too. */
  requestId?: string;
  /** Further details from the server, for example the new preview of a stale draft. */
  details?: Record<string, unknown>;
  cause?: unknown;
}

/** Every failure a caller sees: a code from the server's table, what happened, what to do. */
export class OnyxError extends Error {
  readonly code: string;
  readonly hint: string;
  /** The argument or field that is wrong, by its path. */
  readonly field?: string;
  /** The HTTP status. Absent: the server was not reached, or nothing was sent. */
  readonly status?: number;
  readonly requestId?: string;
  /** When a retry may help, if the server says so. */
  readonly retryAfterSeconds?: number;
  readonly details: Record<string, unknown>;

  constructor(fault: Fault, status?: number, { requestId, details = {}, cause }: Circumstances = {}) {
    super(fault.message, cause === undefined ? undefined : { cause });
    this.name = 'OnyxError';
    this.code = fault.code;
    this.hint = fault.hint;
    this.field = fault.field;
    this.status = status;
    this.requestId = requestId;
    this.retryAfterSeconds = fault.retryAfterSeconds;
    this.details = details;
  }

  /** The server could not be reached at all; the same request may work later. */
  get isOffline(): boolean {
    return this.code === 'offline';
  }
}

export function offline(cause: unknown): OnyxError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const fault = {
    code: 'offline',
    message: `The server cannot be reached (${why}).`,
    hint: 'Check that Onyx is running and that this device reaches it.',
  };
  return new OnyxError(fault, undefined, { cause });
}

export function timedOut(milliseconds: number): OnyxError {
  return new OnyxError({
    code: 'timeout',
    message: `The server did not begin to answer within ${milliseconds} ms.`,
    hint: 'Try again, or allow more with `timeoutMs`.',
  });
}

/** A stream ended before its last event, and the rest could not be read in another way. */
export function interrupted(details: Record<string, unknown> = {}): OnyxError {
  const fault = {
    code: 'interrupted',
    message: 'The answer broke off before its end.',
    hint: 'Send it again; what was finished is kept.',
  };
  return new OnyxError(fault, undefined, { details });
}

export async function problem(response: Response): Promise<OnyxError> {
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const { status: _status, code, title, detail, hint, field, ...details } = body;
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new OnyxError(
    {
      code: String(code ?? 'internal'),
      message: String(detail ?? title ?? `The server answered ${response.status}.`),
      hint: String(hint ?? ''),
      field: typeof field === 'string' ? field : undefined,
      retryAfterSeconds: Number.isFinite(wait) ? wait : undefined,
    },
    response.status,
    { requestId: response.headers.get('x-request-id') ?? undefined, details },
  );
}
