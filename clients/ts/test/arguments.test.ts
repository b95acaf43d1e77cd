import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { Onyx, OnyxError } from '@onyx/sdk';

interface Case {
  call: string;
  with: unknown;
  field: string;
  says: string;
}

// Nothing may be sent: a request would fail with another error.
const sent = () => Promise.reject(new Error('something was sent'));
const onyx = new Onyx({ baseUrl: 'http://127.0.0.1:9', fetch: sent, retries: 0 });
const cases = JSON.parse(await readFile(new URL('../../cases/arguments.json', import.meta.url), 'utf8')) as Case[];

async function call({ call, with: argument }: Case): Promise<unknown> {
  const [room = '', method = ''] = call.split('.');
  const resource = (onyx as unknown as Record<string, Record<string, (argument: unknown) => unknown>>)[room];
  const made = resource?.[method]?.(argument);
  if (method === 'stream') for await (const _ of made as AsyncIterable<unknown>);
  return made;
}

test.each(cases)('$call refuses $field', async (given) => {
  const error = await call(given).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(OnyxError);
  expect(error).toMatchObject({ code: 'invalid_request', field: given.field, status: undefined });
  expect((error as OnyxError).message).toContain(`\`${given.field}\``);
  expect((error as OnyxError).message).toContain(given.says);
});

test('an address and a token that cannot be are refused at once', async () => {
  expect(() => new Onyx({ baseUrl: 'localhost:18790' })).toThrow(/must be an address like http/);
  const spaced = new Onyx({ baseUrl: 'http://127.0.0.1:9', token: 'onyx_sk_x\n', fetch: sent });
  await expect(spaced.me()).rejects.toMatchObject({ field: 'token' });
});

test('a job needs one time and something to do', async () => {
  await expect(onyx.jobs.create('x', { prompt: 'p' })).rejects.toMatchObject({ field: 'cron' });
  await expect(onyx.jobs.create('x', { cron: '* * * * *', every: '2h', prompt: 'p' })).rejects.toThrow(/cannot both/);
  await expect(onyx.jobs.create('x', { every: '2h' })).rejects.toMatchObject({ field: 'prompt' });
});
