import { checkBaseUrl, checkQuery, invalid } from './check.js';
import { OnyxError, offline, problem, timedOut } from './error.js';
import { Credentials, type TokenSource } from './credentials.js';
import { sleep } from './sleep.js';

export type { TokenSource } from './credentials.js';

const RETRIES = 2;
const RETRY_FIRST_MS = 200;
/** If the server asks for a longer wait, the caller gets the error and decides. */
const LONGEST_WAIT_MS = 30_000;

export interface HttpOptions {
  baseUrl: string;
  token?: string | TokenSource;
  /** The page key that a signed-in browser sends with its cookie, if there is no token. */
  pageKey?: () => string | undefined;
  fetch?: typeof fetch;
  /**
   * How often a repeatable call is retried: after 429 and 503 calls that read, replace or delete, when the
   * server allows; after a lost connection only calls that read. The default is 2; 0 means never.
   */
  retries?: number;
  /** How long the server may take to start its answer; without it there is no limit. */
  timeoutMs?: number;
  /** Ends every call of this client. */
  signal?: AbortSignal;
  /** Headers that are sent with every call. */
  headers?: Record<string, string>;
}

/** The options that `with` changes for the derived client. */
export type CallOptions = Pick<HttpOptions, 'retries' | 'timeoutMs' | 'signal' | 'headers'>;

export interface Call {
  method?: string;
  query?: object;
  /** The JSON to send; its names are not changed. */
  body?: unknown;
  /** Markdown to send instead of `body`. */
  text?: string;
  /** Bytes that are sent unchanged instead of `body`. */
  bytes?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export class Http {
  readonly baseUrl: string;
  private readonly credentials: Credentials;
  private readonly key: () => string | undefined;
  private readonly send: typeof fetch;
  private readonly retries: number;

  constructor(
    private readonly options: HttpOptions,
    credentials?: Credentials,
  ) {
    checkBaseUrl(options.baseUrl);
    this.baseUrl = options.baseUrl.replace(/\/+$/, '');
    this.credentials = credentials ?? new Credentials(options.token);
    this.key = options.pageKey ?? (() => undefined);
    this.send = options.fetch ?? ((input, init) => fetch(input, init));
    this.retries = options.retries ?? RETRIES;
  }

  /** The same server and credential with other options. */
  with(options: CallOptions): Http {
    const headers = { ...this.options.headers, ...options.headers };
    return new Http({ ...this.options, ...options, headers }, this.credentials);
  }

  currentToken(): string | undefined {
    return this.credentials.current();
  }

  currentPageKey(): string | undefined {
    return this.key();
  }

  /** The answer's JSON, in camelCase. */
  async json<T>(path: string, call: Call = {}): Promise<T> {
    const response = await this.response(path, call);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  async text(path: string, call: Call = {}): Promise<string> {
    return (await this.response(path, call)).text();
  }

  /** A successful answer; any other status raises an `OnyxError`. */
  async response(path: string, call: Call = {}): Promise<Response> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await this.attempt(path, call);
      } catch (error) {
        const pause = tries < this.retries ? pauseBefore(error, methodOf(call), tries) : undefined;
        if (pause === undefined) throw error;
        await sleep(pause, joined(call.signal, this.options.signal));
      }
    }
  }

  private async attempt(path: string, call: Call): Promise<Response> {
    const token = this.credentials.current();
    let response = await this.once(path, call, token);
    // Another request may have refreshed the token in the meantime.
    const renewed =
      response.status === 401 && (this.credentials.current() !== token || (await this.credentials.refresh()));
    if (renewed) response = await this.once(path, call, this.credentials.current());
    if (!response.ok) throw await problem(response);
    return response;
  }

  private async once(path: string, call: Call, token: string | undefined): Promise<Response> {
    const { body, type } = payload(call);
    const method = methodOf(call);
    const headers: Record<string, string> = {
      'x-onyx-names': 'camelCase',
      ...this.options.headers,
      ...call.headers,
      ...this.proof(token),
    };
    // Proves to the server that its own page sends the request, not a form of another site.
    if (method !== 'GET') headers['x-onyx-request'] = '1';
    if (type) headers['content-type'] ??= type;
    const limit = new Limit(this.options.timeoutMs);
    const signal = joined(call.signal, this.options.signal, limit.signal);
    const address = this.baseUrl + path + query(call.query);
    try {
      return await this.send(address, { method, headers, body, signal, credentials: 'same-origin' });
    } catch (cause) {
      if (limit.reached) throw timedOut(limit.milliseconds);
      if (signal?.aborted) throw cause;
      throw offline(cause);
    } finally {
      limit.end();
    }
  }

  private proof(token: string | undefined): Record<string, string> {
    if (token) {
      if (/[^\x21-\x7e]/.test(token)) throw invalid('token', 'must not hold spaces or line breaks');
      return { authorization: `Bearer ${token}` };
    }
    const key = this.key();
    return key ? { 'x-onyx-page-key': key } : {};
  }
}

/** The timeout covers the time until the answer starts; a stream may then last any time. */
class Limit {
  readonly milliseconds: number;
  readonly signal?: AbortSignal;
  reached = false;
  private readonly timer?: ReturnType<typeof setTimeout>;

  constructor(milliseconds?: number) {
    this.milliseconds = milliseconds ?? 0;
    if (milliseconds === undefined) return;
    const abort = new AbortController();
    this.signal = abort.signal;
    this.timer = setTimeout(() => ((this.reached = true), abort.abort()), milliseconds);
  }

  end(): void {
    clearTimeout(this.timer);
  }
}

/** How long to wait before a retry; none if a retry would be unsafe or useless. */
function pauseBefore(error: unknown, method: string, tries: number): number | undefined {
  if (!(error instanceof OnyxError) || method === 'POST' || method === 'PATCH') return undefined;
  const own = RETRY_FIRST_MS * 2 ** tries;
  // A lost answer may belong to a change that was made, so only reads are retried then.
  if (error.isOffline) return method === 'GET' ? own : undefined;
  if (error.status !== 429 && error.status !== 503) return undefined;
  const wait = error.retryAfterSeconds === undefined ? own : error.retryAfterSeconds * 1000;
  return wait <= LONGEST_WAIT_MS ? wait : undefined;
}

function joined(...signals: (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length > 1 ? AbortSignal.any(given) : given[0];
}

function methodOf(call: Call): string {
  const hasBody = call.bytes !== undefined || call.text !== undefined || call.body !== undefined;
  return call.method ?? (hasBody ? 'POST' : 'GET');
}

function payload(call: Call): { body?: string | Blob; type?: string } {
  if (call.bytes !== undefined) return { body: call.bytes, type: 'application/octet-stream' };
  if (call.text !== undefined) return { body: call.text, type: 'text/markdown; charset=utf-8' };
  if (call.body === undefined) return {};
  return { body: JSON.stringify(call.body), type: 'application/json' };
}

function query(fields: object = {}): string {
  checkQuery(fields);
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '');
  if (given.length === 0) return '';
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
