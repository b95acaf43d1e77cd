import { checkText, route } from './check.js';
import { OnyxError } from './error.js';
import { Http, type HttpOptions, type TokenSource } from './http.js';
import { sleep } from './sleep.js';
import type { Schema, Sent } from './wire.js';

/** A short-lived token, and the refresh token for the next one. */
export type TokenPair = Schema<'TokenReply'>;
export type PairingBegun = Schema<'PairingBegun'>;

const ASK_AGAIN_MS = 1_000;

/** How a program gets a token. */
export class Auth {
  constructor(private readonly http: Http) {}

  /** Exchanges this client's credential for a short-lived token and a refresh token. */
  async exchange(): Promise<TokenPair> {
    return this.http.json('/api/auth/token', { body: {} });
  }

  async refresh(refreshToken: string): Promise<TokenPair> {
    checkText('refreshToken', refreshToken);
    const body: Sent<'Refresh'> = { refresh_token: refreshToken };
    return this.http.json('/api/auth/refresh', { body });
  }

  /** Ends a sign-in: its tokens become invalid. */
  async signOut(): Promise<void> {
    await this.http.response('/api/auth/logout', { body: {} });
  }

  /** Starts a pairing. The owner approves its code in the app or with `onyx pair`. */
  async beginPairing(name: string): Promise<PairingBegun> {
    checkText('name', name);
    return this.http.json('/api/auth/pair', { body: { name, client: 'device' } });
  }

  /** Waits until the owner has decided and returns the token. */
  async finishPairing(pairingId: string, signal?: AbortSignal): Promise<string> {
    for (;;) {
      const path = route`/api/auth/pair/${{ pairingId }}`;
      const { status, token } = await this.http.json<Schema<'PairingReply'>>(path, { signal });
      if (status === 'approved' && token) return token;
      if (status === 'rejected') throw rejected();
      await sleep(ASK_AGAIN_MS, signal);
    }
  }
}

/** A token that renews itself: give it to `new Onyx({ token })`. */
export class RenewingToken implements TokenSource {
  private readonly auth: Auth;

  /** `renewed` is called with each new pair, so that you can store it. */
  constructor(
    options: Pick<HttpOptions, 'baseUrl' | 'fetch'>,
    private pair: Pick<TokenPair, 'accessToken' | 'refreshToken'>,
    private readonly renewed: (pair: TokenPair) => void = () => undefined,
  ) {
    const { baseUrl, fetch } = options;
    this.auth = new Auth(new Http({ baseUrl, fetch }));
  }

  current(): string {
    return this.pair.accessToken;
  }

  async refresh(): Promise<boolean> {
    try {
      const pair = await this.auth.refresh(this.pair.refreshToken);
      this.pair = pair;
      this.renewed(pair);
      return true;
    } catch (error) {
      // Signed out in the meantime: the caller gets the 401.
      if (error instanceof OnyxError && error.status === 401) return false;
      throw error;
    }
  }
}

export interface SignIn extends Pick<HttpOptions, 'baseUrl' | 'fetch'> {
  person: string;
  password: string;
  renewed?: (pair: TokenPair) => void;
}

/** Signs a program in with name and password; a browser signs in on the app's page. */
export async function signIn({ baseUrl, fetch, person, password, renewed }: SignIn): Promise<RenewingToken> {
  checkText('person', person);
  checkText('password', password);
  const bytes = new TextEncoder().encode(`${person}:${password}`);
  const authorization = `Basic ${btoa(String.fromCharCode(...bytes))}`;
  const pair = await new Auth(new Http({ baseUrl, fetch, headers: { authorization } })).exchange();
  renewed?.(pair);
  return new RenewingToken({ baseUrl, fetch }, pair, renewed);
}

const rejected = () =>
  new OnyxError({
    code: 'forbidden',
    message: 'The owner rejected the pairing.',
    hint: 'Ask the owner, then pair again.',
  });
