import type { LoginBegun, ProviderLogin } from './admin.js';
import type { Http } from './http.js';

/** The caller's own LinkedIn account. */
export interface LinkedInAccount {
  /** Whether the config names a LinkedIn application. */
  configured: boolean;
  /** What the owner has to fix before anyone can connect. */
  trouble: string | null;
  login: ProviderLogin;
  /** When LinkedIn last accepted the account's token, since the server started. */
  lastValidatedAt: string | null;
  /** Why LinkedIn refused the last request; null if it accepted it. */
  lastError: string | null;
  /** The redirect address to register with the LinkedIn application. */
  redirectUri: string;
}

/** The parameters that the browser brought back from LinkedIn. */
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

  /** Starts a sign-in and returns the address for the browser; `account` shows the result. */
  async connect(): Promise<LoginBegun> {
    return this.http.json('/api/linkedin/login', { method: 'POST' });
  }

  /** Finishes the caller's sign-in. */
  async finish({ state, code, error }: LinkedInReturn): Promise<LinkedInAccount> {
    return this.http.json('/api/linkedin/login/callback', { body: { state, code, error } });
  }

  /** Tests the sign-in at LinkedIn. */
  async check(): Promise<LinkedInAccount> {
    return this.http.json('/api/linkedin/check', { method: 'POST' });
  }

  /** Deletes the sign-in and revokes it at LinkedIn; `detail` says why LinkedIn did not confirm. */
  async revoke(): Promise<{ confirmed: boolean; detail: string | null }> {
    return this.http.json('/api/linkedin/login', { method: 'DELETE' });
  }
}
