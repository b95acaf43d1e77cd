import type { Http } from './http.js';

/** What another program asks for. */
export interface AccessRequest {
  /** As the program calls itself; nobody has checked it. */
  name: string;
  /** Where the browser goes when a person says yes. */
  goes_to: string;
  scopes: string[];
}

/** Programs that ask a person to be let in. */
export class Oauth {
  constructor(private readonly http: Http) {}

  async request(query: URLSearchParams): Promise<AccessRequest> {
    return this.http.json(`/api/oauth/request?${query}`);
  }

  /** Lets the program in; the address to go to. */
  async authorize(query: URLSearchParams): Promise<string> {
    const body = Object.fromEntries(query);
    return (await this.http.json<{ redirect: string }>('/api/oauth/authorize', { body })).redirect;
  }
}
