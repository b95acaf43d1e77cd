/** Where the bearer token comes from; without one the browser's cookie and the page's key speak. */
export interface TokenSource {
  current(): string | undefined;
  /** Called once after a 401; true when a new token is there. */
  refresh?(): Promise<boolean>;
}

/** One client's token, shared by all that `with` makes of it. */
export class Credentials {
  private readonly source: TokenSource;
  private refreshing?: Promise<boolean>;

  constructor(token?: string | TokenSource) {
    this.source = typeof token === 'object' ? token : { current: () => token };
  }

  current(): string | undefined {
    return this.source.current();
  }

  /** One refresh serves everybody who met a 401 meanwhile. */
  refresh(): Promise<boolean> {
    const { refresh } = this.source;
    if (!refresh) return Promise.resolve(false);
    this.refreshing ??= refresh.call(this.source).finally(() => (this.refreshing = undefined));
    return this.refreshing;
  }
}
