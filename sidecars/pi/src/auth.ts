// Pi's own file of sign-ins. It is read before each question, so that a new sign-in with Pi is noticed, and
// written only when a token was renewed.

import { readFile, rename, writeFile } from 'node:fs/promises';
import { getOAuthProvider, type OAuthCredentials } from '@earendil-works/pi-ai/oauth';
import type { SignIn } from './protocol.js';

type Entry = ({ type: 'oauth' } & OAuthCredentials) | { type: 'api_key'; key: string };
type Entries = Record<string, Entry>;

/** A token is renewed this long before it expires, so that it cuts off no answer. */
const EARLY_MS = 60_000;

export class NotSignedIn extends Error {}

export class SignIns {
  /** One renewal at a time, shared by all waiting requests: a refresh token works only once. */
  private readonly renewals = new Map<string, Promise<OAuthCredentials>>();

  constructor(private readonly file: string) {}

  async list(): Promise<SignIn[]> {
    const entries = Object.entries(await this.read());
    return entries.map(([provider, entry]) => ({
      provider,
      expires_at: entry.type === 'oauth' ? entry.expires : 0,
    }));
  }

  async key(provider: string): Promise<string> {
    const entry = (await this.read())[provider];
    if (!entry) throw new NotSignedIn(`nobody is signed in to ${provider} with Pi`);
    if (entry.type === 'api_key') return entry.key;
    const oauth = getOAuthProvider(provider);
    if (!oauth) throw new NotSignedIn(`this version of Pi has no sign-in for ${provider}`);
    const isFresh = Date.now() < entry.expires - EARLY_MS;
    return oauth.getApiKey(isFresh ? entry : await this.renew(provider, entry));
  }

  private renew(provider: string, before: OAuthCredentials): Promise<OAuthCredentials> {
    const running = this.renewals.get(provider);
    if (running) return running;
    const renewal = this.renewed(provider, before).finally(() => this.renewals.delete(provider));
    this.renewals.set(provider, renewal);
    return renewal;
  }

  private async renewed(provider: string, before: OAuthCredentials): Promise<OAuthCredentials> {
    let after: OAuthCredentials | undefined;
    try {
      after = await getOAuthProvider(provider)?.refreshToken(before);
    } catch {
      // The error message may contain the token.
      throw new NotSignedIn(`the sign-in to ${provider} is no longer accepted: sign in again with Pi`);
    }
    if (!after) throw new NotSignedIn(`this version of Pi has no sign-in for ${provider}`);
    const entries = await this.read();
    entries[provider] = { type: 'oauth', ...after };
    const draft = `${this.file}.${process.pid}.new`;
    await writeFile(draft, JSON.stringify(entries, null, 2), { mode: 0o600 });
    await rename(draft, this.file);
    return after;
  }

  private async read(): Promise<Entries> {
    try {
      return JSON.parse(await readFile(this.file, 'utf8')) as Entries;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw new NotSignedIn(`Pi's file of sign-ins cannot be read: ${this.file}`);
    }
  }
}
