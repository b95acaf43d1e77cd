import { Actions } from './actions.js';
import { Admin, type Me } from './admin.js';
import { Agents } from './agents.js';
import { Auth, signIn, type SignIn } from './auth.js';
import { Channels } from './channels.js';
import { Chat } from './chat.js';
import { Connectors } from './connectors.js';
import { Drafts } from './drafts.js';
import { Http, type CallOptions, type HttpOptions } from './http.js';
import { Jobs } from './jobs.js';
import { LinkedIn } from './linkedin.js';
import { Mcp } from './mcp.js';
import { Oauth } from './oauth.js';
import { Memory } from './memory.js';
import { Personas } from './personas.js';
import { Plugins } from './plugins.js';
import { Preferences } from './preferences.js';
import { Runs } from './runs.js';
import { Sessions } from './sessions.js';
import { Socket, type Listeners } from './socket.js';
import { Skills } from './skills.js';
import { Sources } from './sources.js';
import { Spaces } from './spaces.js';
import { Threads } from './threads.js';
import type { Dependency } from './types.js';
import type { components } from './generated.js';

export * from './types.js';
export type * from './actions.js';
export type * from './admin.js';
export type * from './agents.js';
export type * from './auth.js';
export type * from './channels.js';
export type * from './chat.js';
export type * from './completions.js';
export type * from './connectors.js';
export type * from './files.js';
export type * from './jobs.js';
export type * from './linkedin.js';
export type * from './mcp.js';
export type * from './oauth.js';
export type * from './plugins.js';
export type * from './skills.js';
export type * from './memory.js';
export type * from './personas.js';
export type * from './preferences.js';
export type * from './run-lines.js';
export type * from './sources.js';
export type * from './spaces.js';
export type * from './threads.js';
export { classOf, OnyxError, type ErrorClass } from './error.js';
export { RenewingToken } from './auth.js';
export { Http, type Call, type CallOptions, type HttpOptions, type TokenSource } from './http.js';
export { Socket, type Link, type Listeners } from './socket.js';

/** What `GET /v1/models` lists. */
export type ListedModel = components['schemas']['ListedModelView'];

/** A client of one Onyx server. */
export class Onyx {
  readonly http: Http;
  readonly auth: Auth;
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
  readonly linkedin: LinkedIn;
  readonly admin: Admin;

  constructor(options: HttpOptions | Http) {
    this.http = options instanceof Http ? options : new Http(options);
    this.auth = new Auth(this.http);
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
    this.linkedin = new LinkedIn(this.http);
    this.admin = new Admin(this.http);
  }

  /** Signs in with name and password; the client's token is renewed automatically. */
  static async signIn(how: SignIn & Omit<HttpOptions, 'token'>): Promise<Onyx> {
    return new Onyx({ ...how, token: await signIn(how) });
  }

  /** A copy of the client with other options, for example `onyx.with({ signal, timeoutMs: 5_000 })`. */
  with(options: CallOptions): Onyx {
    return new Onyx(this.http.with(options));
  }

  /** The health of everything that the server uses, each with its state and what to do. */
  async health(): Promise<Dependency[]> {
    return (await this.http.json<{ dependencies: Dependency[] }>('/api/health')).dependencies;
  }

  /** Every model and agent that can be used. */
  async models(): Promise<ListedModel[]> {
    return (await this.http.json<{ data: ListedModel[] }>('/v1/models')).data;
  }

  /** The person and the rights behind this client's credential. */
  async me(): Promise<Me> {
    return this.http.json('/api/auth/me');
  }

  /** Changes the password. Sign-ins made with the old password end. */
  async setPassword(password: string, current?: string): Promise<void> {
    await this.http.response('/api/auth/password', { method: 'PUT', body: { password, current } });
  }

  /** A live connection; call `connect()` on it. */
  socket(listeners: Listeners = {}, make?: (url: string) => WebSocket): Socket {
    return new Socket(this.http, listeners, make);
  }
}
