import { offline, problem } from './error';

/** Where the bearer token comes from; without one the browser's cookie and the page's key speak. */
export interface TokenSource {
  current(): string | undefined;
  /** Called once after a 401; true when a new token is there. */
  refresh?(): Promise<boolean>;
}

export interface HttpOptions {
  baseUrl: string;
  token?: string | TokenSource;
  /** What a signed-in browser's page shows beside its cookie, where there is no token. */
  pageKey?: () => string | undefined;
  fetch?: typeof fetch;
}

export interface Call {
  method?: string;
  query?: object;
  /** Sent as JSON, under the names that it has. */
  body?: unknown;
  /** Sent as markdown, in place of `body`. */
  text?: string;
  /** Sent as they are, in place of `body`. */
  bytes?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export class Http {
  readonly baseUrl: string;
  private readonly token: TokenSource;
  private readonly key: () => string | undefined;
  private readonly send: typeof fetch;
  private refreshing?: Promise<boolean>;

  constructor(options: HttpOptions) {
    this.baseUrl = options.baseUrl.replace(/\/$/, '');
    const { token } = options;
    this.token = typeof token === 'object' ? token : { current: () => token };
    this.key = options.pageKey ?? (() => undefined);
    this.send = options.fetch ?? ((input, init) => fetch(input, init));
  }

  currentToken(): string | undefined {
    return this.token.current();
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

  /** An answer with a good status; anything else is an `OnyxError`. */
  async response(path: string, call: Call = {}): Promise<Response> {
    const token = this.token.current();
    let response = await this.once(path, call, token);
    // Somebody may have refreshed it while this request was under way.
    const renewed = response.status === 401 && (this.token.current() !== token || (await this.refresh()));
    if (renewed) response = await this.once(path, call, this.token.current());
    if (!response.ok) throw await problem(response);
    return response;
  }

  /** One refresh serves everybody who met a 401 meanwhile. */
  private refresh(): Promise<boolean> {
    const { refresh } = this.token;
    if (!refresh) return Promise.resolve(false);
    this.refreshing ??= refresh.call(this.token).finally(() => (this.refreshing = undefined));
    return this.refreshing;
  }

  private async once(path: string, call: Call, token: string | undefined): Promise<Response> {
    const headers: Record<string, string> = { 'x-onyx-names': 'camelCase', ...call.headers };
    const key = this.key();
    if (token) headers['authorization'] = `Bearer ${token}`;
    else if (key) headers['x-onyx-page-key'] = key;
    const { body, type } = payload(call);
    const method = call.method ?? (body === undefined ? 'GET' : 'POST');
    // Proves to the server that a page of its own asks, not a form of somebody else's.
    if (method !== 'GET') headers['x-onyx-request'] = '1';
    if (type) headers['content-type'] ??= type;
    try {
      return await this.send(this.baseUrl + path + query(call.query), {
        method,
        headers,
        body,
        signal: call.signal,
        credentials: 'same-origin',
      });
    } catch (cause) {
      if (call.signal?.aborted) throw cause;
      throw offline(cause);
    }
  }
}

function payload(call: Call): { body?: string | Blob; type?: string } {
  if (call.bytes !== undefined) return { body: call.bytes, type: 'application/octet-stream' };
  if (call.text !== undefined) return { body: call.text, type: 'text/markdown; charset=utf-8' };
  if (call.body === undefined) return {};
  return { body: JSON.stringify(call.body), type: 'application/json' };
}

function query(fields: object = {}): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '');
  if (given.length === 0) return '';
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
