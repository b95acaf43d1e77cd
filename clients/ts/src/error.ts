import type { Fault } from './types';

/** Every failure a caller sees: a code from the server's table, what happened, what to do. */
export class OnyxError extends Error {
  readonly code: string;
  readonly hint: string;
  readonly field?: string;
  readonly status?: number;

  constructor(fault: Fault, status?: number) {
    super(fault.message);
    this.name = 'OnyxError';
    this.code = fault.code;
    this.hint = fault.hint;
    this.field = fault.field;
    this.status = status;
  }

  /** The server could not be reached at all; the same request may work later. */
  get isOffline(): boolean {
    return this.code === 'offline';
  }
}

export function offline(cause: unknown): OnyxError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new OnyxError({
    code: 'offline',
    message: `The server cannot be reached (${why}).`,
    hint: 'Check that Onyx is running and that this device reaches it.',
  });
}

export async function problem(response: Response): Promise<OnyxError> {
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  return new OnyxError(
    {
      code: String(body['code'] ?? 'internal'),
      message: String(body['detail'] ?? body['title'] ?? `The server answered ${response.status}.`),
      hint: String(body['hint'] ?? ''),
      field: body['field'] === undefined ? undefined : String(body['field']),
    },
    response.status,
  );
}
