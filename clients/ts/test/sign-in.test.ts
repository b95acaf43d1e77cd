import { afterAll, beforeAll, expect, test } from 'vitest';
import { Onyx, RenewingToken, type TokenPair } from '@onyx/sdk';
import { stage, TOKEN, type Stage } from '../../../web/e2e/stage';

const PASSWORD = 'grüner Käse & bread';
let at: Stage;
let owner: Onyx;

beforeAll(async () => {
  at = await stage([]);
  owner = new Onyx({ baseUrl: at.url, token: TOKEN });
  await owner.admin.addPerson({ id: 'mara', name: 'Mara' });
  await owner.admin.setPassword('mara', PASSWORD);
});
afterAll(() => at.end());

test('a person signs in by name and password, and the token renews itself', async () => {
  const pairs: TokenPair[] = [];
  const mara = await Onyx.signIn({
    baseUrl: at.url,
    person: 'mara',
    password: PASSWORD,
    renewed: (pair) => pairs.push(pair),
  });
  expect(await mara.me()).toMatchObject({ person: 'mara', role: 'member' });
  expect(pairs).toHaveLength(1);
  // The program kept the pair of tokens until the short-lived one had expired.
  const { refreshToken = '' } = pairs[0] ?? {};
  const kept = new RenewingToken({ baseUrl: at.url }, { accessToken: 'old', refreshToken }, (pair) => pairs.push(pair));
  const later = new Onyx({ baseUrl: at.url, token: kept });
  expect(await Promise.all([later.me(), later.sessions.list()])).toMatchObject([{ person: 'mara' }, { sessions: [] }]);
  expect(pairs).toHaveLength(2);
  expect(kept.current()).toBe(pairs[1]?.accessToken);
  await later.auth.signOut();
  await expect(later.me()).rejects.toMatchObject({ status: 401 });
});

test('a wrong password is refused with what to do, and what is not allowed says so', async () => {
  const wrong = Onyx.signIn({ baseUrl: at.url, person: 'mara', password: 'wrong' });
  await expect(wrong).rejects.toMatchObject({
    code: 'unauthenticated',
    status: 401,
    hint: expect.stringMatching(/.+/),
  });
  const mara = await Onyx.signIn({ baseUrl: at.url, person: 'mara', password: PASSWORD });
  await expect(mara.admin.people()).rejects.toMatchObject({ code: 'forbidden', status: 403 });
});

test('a device is paired: the owner approves its code and it gets a token', async () => {
  const stranger = new Onyx({ baseUrl: at.url });
  const { pairingId, code } = await stranger.auth.beginPairing('kitchen display');
  const waiting = stranger.auth.finishPairing(pairingId);
  await owner.admin.decidePairing(code, 'approve', 'mara');
  const display = new Onyx({ baseUrl: at.url, token: await waiting });
  expect(await display.me()).toMatchObject({ person: 'mara' });
  const refused = await stranger.auth.beginPairing('toaster');
  await owner.admin.decidePairing(refused.code, 'reject');
  await expect(stranger.auth.finishPairing(refused.pairingId)).rejects.toMatchObject({ code: 'forbidden' });
});

test('a token with narrow rights is made, used and revoked', async () => {
  const made = await owner.admin.makeToken({ name: 'reader', scopes: ['read'] });
  const reader = new Onyx({ baseUrl: at.url, token: made.token });
  expect((await reader.sessions.list()).sessions).toEqual([]);
  await expect(reader.chat.send({ message: 'hi' })).rejects.toMatchObject({ status: 403 });
  await owner.admin.revokeToken(made.id);
  await expect(reader.sessions.list()).rejects.toMatchObject({ status: 401 });
});
