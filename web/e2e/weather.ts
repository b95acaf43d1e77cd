// Simulates conditions between a page and its server: requests that never finish, that fail, or without a connection.

import type { Page, WebSocketRoute } from 'playwright-core';

export type Weather = 'live' | 'loading' | 'error' | 'offline';

const FAULT = {
  code: 'storage_failed',
  message: 'The disk did not answer.',
  hint: 'Look at the server’s log; nothing that was acknowledged is lost.',
};
const PROBLEM = { status: 500, code: FAULT.code, title: 'Storage failed', detail: FAULT.message, hint: FAULT.hint };
const DATA = /^\/(api|v1)\//;
/** How far the clock is put forward to stop it. A slow machine must not pass that time before it stops. */
const AHEAD_MS = 10_000;

export class Sky {
  weather: Weather = 'live';
  private sockets: WebSocketRoute[] = [];
  /** The requests that are held in the state `loading`. */
  private held: (() => unknown)[] = [];

  constructor(private readonly page: Page) {}

  async watch(): Promise<void> {
    await this.page.route(
      (url) => DATA.test(url.pathname),
      async (route) => {
        if (this.weather === 'live') return route.continue();
        if (this.weather === 'offline') return route.abort('internetdisconnected');
        const fail = () =>
          route.fulfill({ status: 500, contentType: 'application/problem+json', body: JSON.stringify(PROBLEM) });
        if (this.weather === 'error') return fail();
        this.held.push(fail);
      },
    );
    await this.page.routeWebSocket(/\/ws$/, (socket) => this.socket(socket));
  }

  private socket(socket: WebSocketRoute): void {
    if (this.weather === 'offline') return void socket.close({ code: 1001 });
    this.sockets.push(socket);
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      const { type, id } = JSON.parse(String(message)) as { type: string; id?: string };
      if (this.weather === 'live' || id === 'hello') return server.send(message);
      const fail = () => socket.send(JSON.stringify({ type: `${type}.result`, id, error: FAULT }));
      if (this.weather === 'error') return fail();
      this.held.push(fail);
    });
    server.onMessage((message) => socket.send(message));
  }

  async change(weather: Weather): Promise<void> {
    this.weather = weather;
    const held = this.held.splice(0);
    if (weather === 'error') await Promise.all(held.map((fail) => fail()));
    if (weather !== 'offline') return;
    await Promise.all(this.sockets.splice(0).map((socket) => socket.close({ code: 1001 })));
  }

  /**
   * Brings the connection back and presses “Try now”. The page's clock, which must be installed, stands still until the
   * page is connected, so that only the button tries again.
   */
  async tryNow(): Promise<void> {
    const { clock } = this.page;
    // An attempt that begins while the clock is put forward is refused before this returns.
    await clock.pauseAt(await this.page.evaluate((ahead) => Date.now() + ahead, AHEAD_MS));
    await this.change('live');
    await this.page.getByRole('button', { name: 'Try now' }).click();
    await this.page.getByText('No connection to Onyx').waitFor({ state: 'detached' });
    await clock.resume();
  }
}
