// Five calls whose types all come from the document.
import createClient from 'openapi-fetch';
import type { paths } from './made.js';

function equal(seen: unknown, expected: unknown) {
  if (seen !== expected) throw new Error(`${String(seen)} instead of ${String(expected)}`);
}

export function calls(baseUrl: string, token: string): Record<string, () => Promise<void>> {
  const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
  const chat = async () => {
    const { data } = await client.POST('/api/agent/chat', { body: { message: 'say hello' } });
    equal(data?.message, 'Hello there.');
    return data?.session_id;
  };
  return {
    'a plain value': async () => {
      const { data } = await client.GET('/health');
      equal(data?.status, 'ok');
    },
    'a list': async () => {
      const { data } = await client.GET('/v1/models');
      equal(
        data?.data.some((model) => model.id === 'onyx:main'),
        true,
      );
    },
    'a body': async () => void (await chat()),
    'a query': async () => {
      const session = await chat();
      const { data } = await client.GET('/v1/sessions', { params: { query: { limit: 5 } } });
      equal(
        data?.sessions.some((one) => one.id === session),
        true,
      );
    },
    'an error': async () => {
      const { error, response } = await client.GET('/v1/sessions/{id}', {
        params: { path: { id: '00000000-0000-7000-8000-000000000000' } },
      });
      equal(response.status >= 400, true);
      equal(typeof error?.code, 'string');
    },
  };
}
