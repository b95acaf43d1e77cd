// LinkedIn's side of a sign-in: a page on which every browser agrees, tokens, and the account.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface LinkedInServer {
  /** The `tools.linkedin` settings of a home whose application is registered here. */
  settings: object;
  /** Makes all tokens invalid. */
  removeAccess: () => void;
  end: () => void;
}

export async function linkedInServer(): Promise<LinkedInServer> {
  let good = true;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://linkedin.test');
    const json = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (url.pathname === '/oauth/v2/authorization') {
      const back = new URL(url.searchParams.get('redirect_uri') ?? '');
      back.searchParams.set('code', 'the-code');
      back.searchParams.set('state', url.searchParams.get('state') ?? '');
      response.writeHead(303, { location: back.href });
      response.end();
    } else if (url.pathname === '/oauth/v2/accessToken') {
      good = true;
      json(200, { access_token: 'the-access', expires_in: 5_184_000 });
    } else if (url.pathname === '/oauth/v2/revoke') {
      json(200, {});
    } else if (url.pathname === '/v2/userinfo' && good) {
      json(200, { sub: 'ada-1', name: 'Ada', email: 'ada@example.org' });
    } else {
      json(401, { message: 'The token used in the request has been revoked by the user' });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    settings: { clientId: 'the-tests', clientSecret: 'secret:linkedin', issuer: base, baseUrl: base },
    removeAccess: () => (good = false),
    end: () => (server.closeAllConnections(), server.close()),
  };
}
