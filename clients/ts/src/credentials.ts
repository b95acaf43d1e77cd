/** The source of the bearer token; without one the browser's cookie and the page's key are used. */
export interface TokenSource {
  current(): string | undefined;
  /** Called once after a 401; returns true if there is a new token. */
  refresh?(): Promise<boolean>;
}

/** One client's token, shared by all clients that `with` derives from it. */
export class Credentials {
  private readonly source: TokenSource;
  private refreshing?: Promise<boolean>;

  constructor(token?: string | TokenSource) {
    this.source = typeof token === 'object' ? token : { current: () => token };
  }

  current(): string | undefined {
    return this.source.current();
  }

  /** One refresh serves all requests that got a 401 in the meantime. */
  refresh(): Promise<boolean> {
    const { refresh } = this.source;
    if (!refresh) return Promise.resolve(false);
    this.refreshing ??= refresh.call(this.source).finally(() => (this.refreshing = undefined));
    return this.refreshing;
  }
}
