import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page, Worker } from 'playwright-core';
import { expect, test } from 'vitest';
import { clearsAfterEach, composer, log, open, play, share, told } from './play';
import type { Stage } from './stage';

clearsAfterEach();

/** A proxy to the server that can pretend to be a newer version. */
async function upgradable(at: Stage): Promise<{ url: string; upgrade: () => void; end: () => void }> {
  let newer = false;
  const server = createServer((request, response) => {
    void fetch(at.url + request.url, { headers: { accept: request.headers.accept ?? '*/*' } }).then(async (answer) => {
      const type = answer.headers.get('content-type');
      const body = Buffer.from(await answer.arrayBuffer());
      response.writeHead(answer.status, { ...(type && { 'content-type': type }), 'cache-control': 'no-cache' });
      response.end(newer && request.url === '/sw.js' ? Buffer.concat([body, Buffer.from('\n// newer')]) : body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    upgrade: () => (newer = true),
    end: () => (server.closeAllConnections(), server.close()),
  };
}

test('the app can be installed', async () => {
  const at = await share([]);
  const page = await open(at, '/chat', { serviceWorkers: 'allow' });
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const session = await page.context().newCDPSession(page);
  const { errors, data } = await session.send('Page.getAppManifest');
  expect(errors).toEqual([]);
  expect(JSON.parse(data ?? '{}')).toMatchObject({
    display: 'standalone',
    start_url: '/',
    share_target: { action: '/share', method: 'POST' },
  });
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
  expect(installabilityErrors.filter((error) => error.errorId !== 'in-incognito')).toEqual([]);
});

interface Client {
  url: string;
  focus: () => Promise<Client>;
}

/** The parts of a service worker's global scope that are used here. */
interface Scope extends EventTarget {
  registration: ServiceWorkerRegistration;
  WindowClient: { prototype: Client };
  NotificationEvent: new (type: string, options: { notification: Notification }) => Event;
}

/**
 * Clicks on the worker's notification; returns the page that it brings to the front. Only a click in the system's own
 * interface may do that, so the call is recorded instead.
 */
const clicked = (worker: Worker) =>
  worker.evaluate(async () => {
    const scope = self as unknown as Scope;
    const [notification] = await scope.registration.getNotifications();
    if (!notification) return undefined;
    let front: string | undefined;
    scope.WindowClient.prototype.focus = function () {
      front = new URL(this.url).pathname;
      return Promise.resolve(this);
    };
    let under: Promise<unknown> | undefined;
    const event = new scope.NotificationEvent('notificationclick', { notification });
    scope.dispatchEvent(Object.assign(event, { waitUntil: (work: Promise<unknown>) => (under = work) }));
    await under;
    return front;
  });

test('a click on a notification of an installed app brings its tab to the front, the one that shows it if there is one', async () => {
  const at = await share([]);
  const page = await open(at, '/settings', { serviceWorkers: 'allow' });
  await page.context().grantPermissions(['notifications'], { origin: at.url });
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.getByRole('switch', { name: 'Notify' }).click();
  await page.getByRole('switch', { name: 'Notify', checked: true }).waitFor();
  const hide = (tab: Page) =>
    tab.evaluate(() => void Object.defineProperty(document, 'hidden', { configurable: true, get: () => true }));
  const [worker] = page.context().serviceWorkers();
  if (!worker) throw new Error('there is no worker');
  // Before the connection is established the page learns of no run.
  await page.getByLabel(/^System: (?!Not connected|Connecting)/).waitFor();
  await hide(page);
  const first = await told(at, 'while the app is away');
  await expect.poll(() => clicked(worker)).toBe('/settings');
  await page.waitForURL(`**/chat/${first}`);
  await log(page).getByText('ok', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Settings' }).click();
  const other = await page.context().newPage();
  await other.goto(`${at.url}/chat/${first}`);
  await log(other).getByText('ok', { exact: true }).waitFor();
  await hide(other);
  await at.api('/api/agent/chat', { method: 'POST', body: JSON.stringify({ message: 'more', session_id: first }) });
  await expect.poll(() => clicked(worker)).toBe(`/chat/${first}`);
});

test('words shared from another app wait to be sent', async () => {
  const at = await share([]);
  const page = await open(at, '/chat?title=Pass&text=closed%20at%20noon&url=https%3A%2F%2Froads.example%2Fpass');
  expect(await composer(page).inputValue()).toBe('Pass\nclosed at noon\nhttps://roads.example/pass');
});

test('a new version waits until the person takes it', async () => {
  const at = await share([]);
  const behind = await upgradable(at);
  const page = await open(at, '/chat', { serviceWorkers: 'allow' });
  await page.goto(`${behind.url}/chat`);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.reload();
  await composer(page).waitFor();
  const offer = page.getByText('A new version of Onyx is available.');
  expect(await offer.count()).toBe(0);
  behind.upgrade();
  await page.reload();
  await offer.waitFor();
  await composer(page).fill('kept');
  await Promise.all([page.waitForEvent('framenavigated'), page.getByRole('button', { name: 'Reload' }).click()]);
  await composer(page).waitFor();
  expect(await composer(page).inputValue()).toBe('kept');
  await page.waitForTimeout(500);
  expect(await offer.count()).toBe(0);
  behind.end();
});

test('installing is offered once, and the icon counts what waits', async () => {
  const careful = [{ id: 'main', name: 'Main', default: true, model: 'mine/some-model', tier: 'suggest' }];
  const write = { calls: [{ id: 'a', name: 'write_file', input: { path: 'badge.md', content: 'new' } }] };
  const at = await play([write, { text: 'Proposed.' }], { agents: careful });
  await told(at, 'write it');
  const page = await open(at, '/nowhere', { colorScheme: 'light' });
  await page.addInitScript(() => {
    const told: number[] = [];
    Object.assign(navigator, {
      setAppBadge: (count: number) => (told.push(count), Promise.resolve()),
      clearAppBadge: () => (told.push(0), Promise.resolve()),
    });
    Object.assign(window, { badges: told });
  });
  await page.goto(`${at.url}/inbox`);
  const badge = () => page.evaluate(() => (window as unknown as { badges: number[] }).badges.at(-1));
  await expect.poll(badge).toBe(1);
  const offer = () =>
    page.evaluate(
      () => void dispatchEvent(Object.assign(new Event('beforeinstallprompt'), { prompt: () => undefined })),
    );
  await offer();
  const notices = page.getByRole('region', { name: 'Notices' });
  await notices.getByRole('button', { name: 'Install' }).click();
  await notices.getByText('can be installed').waitFor({ state: 'detached' });
  await page.locator('[data-draft][data-open]').waitFor();
  await page.keyboard.press('a');
  await expect.poll(badge).toBe(0);
  await page.reload();
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  await offer();
  expect(await notices.getByText('can be installed').count()).toBe(0);
});
