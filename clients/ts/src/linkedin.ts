import type { LoginBegun, ProviderLogin } from './admin.js';
import type { Http } from './http.js';

/** The caller's own account at LinkedIn. */
export interface LinkedInAccount {
  /** Whether the owner named an application of LinkedIn's in the config. */
  configured: boolean;
  /** What the owner has to mend before anybody can connect. */
  trouble: string | null;
  login: ProviderLogin;
  /** When LinkedIn last took the account's token, since the server started. */
  lastValidatedAt: string | null;
  /** Why LinkedIn did not take the last request; null after one that it took. */
  lastError: string | null;
  /** To be registered with the application at LinkedIn. */
  redirectUri: string;
}

/** What the browser brought back from LinkedIn. */
export interface LinkedInReturn {
  state: string;
  code?: string;
  error?: string;
}

export class LinkedIn {
  constructor(private readonly http: Http) {}

  async account(): Promise<LinkedInAccount> {
    return this.http.json('/api/linkedin');
  }

  /** Where to send the browser; `account` tells what becomes of it. */
  async connect(): Promise<LoginBegun> {
    return this.http.json('/api/linkedin/login', { method: 'POST' });
  }

  /** Ends the sign-in that the caller began. */
  async finish({ state, code, error }: LinkedInReturn): Promise<LinkedInAccount> {
    return this.http.json('/api/linkedin/login/callback', { body: { state, code, error } });
  }

  /** Asks LinkedIn whether it takes the sign-in. */
  async check(): Promise<LinkedInAccount> {
    return this.http.json('/api/linkedin/check', { method: 'POST' });
  }

  /** Forgets the sign-in and takes it back at LinkedIn; `detail` says why nobody there confirmed it. */
  async revoke(): Promise<{ confirmed: boolean; detail: string | null }> {
    return this.http.json('/api/linkedin/login', { method: 'DELETE' });
  }
}
