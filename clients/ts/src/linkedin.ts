import type { LoginBegun } from './admin.js';
import type { Http } from './http.js';
import type { Schema } from './wire.js';

/** The caller's own LinkedIn account. */
export type LinkedInAccount = Schema<'LinkedInView'>;
/** The parameters that the browser brought back from LinkedIn. */
export type LinkedInReturn = Schema<'LinkedInReturn'>;

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
  async revoke(): Promise<Schema<'LinkedInRevoked'>> {
    return this.http.json('/api/linkedin/login', { method: 'DELETE' });
  }
}
