import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { clearsAfterEach, composer, finished, open, play, say } from './play';
import type { Stage } from './stage';

clearsAfterEach();

/** Another program on the same machine that records every cookie that a browser sends it. */
async function neighbour(): Promise<{ url: string; cookies: string[]; end: () => void }> {
  const cookies: string[] = [];
  const server = createServer((request, response) => {
    cookies.push(request.headers.cookie ?? '');
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><title>neighbour</title>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    cookies,
    end: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function link(at: Stage): Promise<string> {
  const made = await at.api('/api/admin/links', { method: 'POST', body: '{}' });
  const { pathname, search } = new URL(((await made.json()) as { url: string }).url);
  return pathname + search;
}

/** The server's first answer to a socket with this cookie and this first frame. */
function firstAnswer(at: Stage, cookie: string, frame: object): Promise<string> {
  const options = { headers: { cookie, origin: at.url } } as unknown as string[];
  const socket = new WebSocket(`${at.url.replace('http', 'ws')}/ws`, options);
  return new Promise((resolve, reject) => {
    socket.onopen = () => socket.send(JSON.stringify(frame));
    socket.onmessage = ({ data }) => {
      resolve(String(data));
      socket.close();
    };
    socket.onerror = () => reject(new Error('no connection'));
  });
}

test('another port of the machine is sent the cookie and can read nothing with it', async () => {
  const at = await play([{ text: 'only for you' }]);
  const other = await neighbour();
  const page = await open(at, await link(at), { token: '', serviceWorkers: 'allow' });
  await page.waitForURL(/\/chat$/);
  await say(page, 'hi');
  await finished(page);
  expect(
    await page.evaluate(() =>
      performance
        .getEntriesByType('navigation')
        .map(({ name }) => name)
        .join(),
    ),
  ).not.toContain('onyx_pk_');
  await page.goto(other.url);
  const cookie = other.cookies.find((sent) => sent.includes('onyx_session=')) ?? '';
  expect(cookie).toContain('onyx_session=onyx_cs_');
  expect(await page.evaluate(() => localStorage.getItem('onyx.page_key'))).toBe(null);
  for (const path of ['/api/auth/me', '/v1/sessions', '/v1/memory/files', '/api/pending-changes/events']) {
    const answer = await fetch(at.url + path, { headers: { cookie } });
    expect([path, answer.status]).toEqual([path, 401]);
  }
  expect(await firstAnswer(at, cookie, { type: 'sessions.list' })).toContain('unauthenticated');
  // The app still works: after a reload, in another tab, in the API documentation, and for downloads.
  await page.goto(`${at.url}/chat`);
  await composer(page).waitFor();
  await page.reload();
  await composer(page).waitFor();
  const tab = await page.context().newPage();
  await tab.goto(`${at.url}/docs`);
  await tab.getByText(/OpenAPI 3/).waitFor();
  await tab.goto(`${at.url}/sessions`);
  await tab.getByText('hi').first().waitFor();
  other.end();
});

test('a browser that signed in before pages had a key is asked kindly to sign in again', async () => {
  const at = await play([]);
  await at.api('/api/admin/people/owner/password', {
    method: 'PUT',
    body: JSON.stringify({ password: 'a good password' }),
  });
  const page = await open(at, await link(at), { token: '', serviceWorkers: 'block' });
  await page.waitForURL(/\/chat$/);
  await composer(page).waitFor();
  await page.evaluate(() => localStorage.removeItem('onyx.page_key'));
  await page.reload();
  await page.getByText('Sign in again: sessions are now protected from other programs on this machine.').waitFor();
  await page.getByLabel('Name').fill('owner');
  await page.getByLabel('Password').fill('a wrong password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('the name or the password is wrong').waitFor();
  await page.getByLabel('Password').fill('a good password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await composer(page).waitFor();
  await page.reload();
  await composer(page).waitFor();
});
