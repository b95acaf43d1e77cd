// An authorization server for device codes (RFC 8628). A test decides whether codes are entered, refused or expire.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Authorization {
  url: string;
  /** The `login` settings of a provider with this server. */
  login: { clientId: string; deviceUrl: string; tokenUrl: string; accountUrl: string };
  /** Sets the result of codes from now on: an error, or a sign-in for some seconds. Renewals are refused. */
  decide: (decision: Decision) => void;
  end: () => void;
}

type Decision = { error: string } | { seconds: number; renews?: boolean };

const PENDING: Decision = { error: 'authorization_pending' };

export async function authorization(): Promise<Authorization> {
  let decision = PENDING;
  let codes = 0;
  let base = '';
  const answers: Record<string, (form: URLSearchParams) => object> = {
    '/device': () => {
      codes += 1;
      decision = PENDING;
      return {
        device_code: `device-${codes}`,
        user_code: `ABCD-000${codes}`,
        verification_uri: `${base}/enter`,
        expires_in: 900,
        interval: 1,
      };
    },
    '/token': (form) => {
      if (form.get('grant_type') === 'refresh_token') return { error: 'invalid_grant' };
      return 'error' in decision
        ? decision
        : {
            access_token: `access-${codes}`,
            ...(decision.renews !== false && { refresh_token: `refresh-${codes}` }),
            token_type: 'bearer',
            expires_in: decision.seconds,
          };
    },
    '/user': () => ({ login: 'octocat' }),
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      const answer = answers[request.url ?? '']?.(new URLSearchParams(body));
      response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: base,
    login: {
      clientId: 'the-tests',
      deviceUrl: `${base}/device`,
      tokenUrl: `${base}/token`,
      accountUrl: `${base}/user`,
    },
    decide: (next) => (decision = next),
    end: () => (server.closeAllConnections(), server.close()),
  };
}
