import type { Http } from './http.js';
import type { Schema } from './wire.js';

/** The access that another program requests. */
export type AccessRequest = Schema<'AccessRequestView'>;

/** Programs that ask a person for access. */
export class Oauth {
  constructor(private readonly http: Http) {}

  async request(query: URLSearchParams): Promise<AccessRequest> {
    return this.http.json(`/api/oauth/request?${query}`);
  }

  /** Allows the access; returns the address to go to. */
  async authorize(query: URLSearchParams): Promise<string> {
    const body = Object.fromEntries(query);
    return (await this.http.json<{ redirect: string }>('/api/oauth/authorize', { body })).redirect;
  }
}
