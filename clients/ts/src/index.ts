import { Http, type HttpOptions } from './http';
import { Chat, Drafts, Sessions } from './resources';
import { Runs } from './runs';
import { Socket, type Listeners } from './socket';

export * from './types';
export { OnyxError } from './error';
export { Http, type HttpOptions, type TokenSource } from './http';
export { Socket, type Link, type Listeners } from './socket';

/** A client of one Onyx server. */
export class Onyx {
  readonly http: Http;
  readonly chat: Chat;
  readonly runs: Runs;
  readonly sessions: Sessions;
  readonly drafts: Drafts;

  constructor(options: HttpOptions) {
    this.http = new Http(options);
    this.chat = new Chat(this.http);
    this.runs = new Runs(this.http);
    this.sessions = new Sessions(this.http);
    this.drafts = new Drafts(this.http);
  }

  /** A live connection; call `connect()` on it. */
  socket(listeners: Listeners = {}, make?: (url: string) => WebSocket): Socket {
    return new Socket(this.http, listeners, make);
  }
}
