import { Actions } from './actions';
import { Admin, type Me } from './admin';
import { Agents } from './agents';
import { Channels } from './channels';
import { Connectors } from './connectors';
import { Http, type HttpOptions } from './http';
import { Jobs } from './jobs';
import { Mcp } from './mcp';
import { Oauth } from './oauth';
import { Memory } from './memory';
import { Personas } from './personas';
import { Plugins } from './plugins';
import { Preferences } from './preferences';
import { Chat, Drafts, Sessions } from './resources';
import { Runs } from './runs';
import { Socket, type Listeners } from './socket';
import { Skills } from './skills';
import { Sources } from './sources';
import { Spaces } from './spaces';
import { Threads } from './threads';

export * from './types';
export type * from './actions';
export type * from './admin';
export type * from './agents';
export type * from './channels';
export type * from './connectors';
export type * from './files';
export type * from './jobs';
export type * from './mcp';
export type * from './plugins';
export type * from './oauth';
export type * from './skills';
export type * from './memory';
export type * from './personas';
export type * from './preferences';
export type * from './sources';
export type * from './spaces';
export type * from './threads';
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
  readonly spaces: Spaces;
  readonly threads: Threads;
  readonly channels: Channels;
  readonly connectors: Connectors;
  readonly sources: Sources;
  readonly memory: Memory;
  readonly agents: Agents;
  readonly personas: Personas;
  readonly actions: Actions;
  readonly jobs: Jobs;
  readonly skills: Skills;
  readonly mcp: Mcp;
  readonly plugins: Plugins;
  readonly oauth: Oauth;
  readonly preferences: Preferences;
  readonly admin: Admin;

  constructor(options: HttpOptions) {
    this.http = new Http(options);
    this.chat = new Chat(this.http);
    this.runs = new Runs(this.http);
    this.sessions = new Sessions(this.http);
    this.drafts = new Drafts(this.http);
    this.spaces = new Spaces(this.http);
    this.threads = new Threads(this.http);
    this.channels = new Channels(this.http);
    this.connectors = new Connectors(this.http);
    this.sources = new Sources(this.http);
    this.memory = new Memory(this.http);
    this.agents = new Agents(this.http);
    this.personas = new Personas(this.http);
    this.actions = new Actions(this.http);
    this.jobs = new Jobs(this.http);
    this.skills = new Skills(this.http);
    this.mcp = new Mcp(this.http);
    this.plugins = new Plugins(this.http);
    this.oauth = new Oauth(this.http);
    this.preferences = new Preferences(this.http);
    this.admin = new Admin(this.http);
  }

  /** Who the server takes this client for. */
  me(): Promise<Me> {
    return this.http.json('/api/auth/me');
  }

  /** Whoever is signed in by the old password signs in again. */
  async setPassword(password: string, current?: string): Promise<void> {
    await this.http.response('/api/auth/password', { method: 'PUT', body: { password, current } });
  }

  /** A live connection; call `connect()` on it. */
  socket(listeners: Listeners = {}, make?: (url: string) => WebSocket): Socket {
    return new Socket(this.http, listeners, make);
  }
}
