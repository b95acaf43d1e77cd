import { route } from './check.js';
import type { Http } from './http.js';
import type { DiffLine } from './types.js';
import type { Schema, Sent } from './wire.js';

export type Effect = 'read' | 'write' | 'destroy' | 'reach' | 'execute';

/** A tool of another program. */
export interface McpTool {
  name: string;
  description: string;
  effect: Effect;
  state: 'ready' | 'new' | 'changed' | 'missing' | 'off' | 'unusable';
  problem?: string;
  hash?: string;
  /** The content to be accepted. */
  diff?: string;
  /** The lines of `diff`, each with its kind. */
  diffLines?: DiffLine[];
}

/** A program that offers tools. */
export interface McpServer {
  name: string;
  /** The command line, or the address. */
  place: string;
  enabled: boolean;
  status: 'idle' | 'starting' | 'running' | 'failing';
  problem?: string;
  protocol?: string;
  /** Whether there is a sign-in at the server. */
  signed_in: boolean;
  network: string[];
  tools: McpTool[];
  log: string[];
}

const path = (name: string, rest = '') => route`/api/admin/mcp/${{ name }}${rest}`;

export class Mcp {
  constructor(private readonly http: Http) {}

  async list(): Promise<McpServer[]> {
    return (await this.http.json<{ servers: McpServer[] }>('/api/admin/mcp')).servers;
  }

  async get(name: string): Promise<McpServer> {
    return this.http.json(path(name));
  }

  /** Adds servers, written as in the configuration of other clients. */
  async add(servers: Record<string, unknown>): Promise<McpServer[]> {
    return (await this.http.json<{ servers: McpServer[] }>('/api/admin/mcp', { body: servers })).servers;
  }

  /** Restarts the server and reads its tools. */
  async test(name: string): Promise<McpServer> {
    return this.http.json(path(name, '/test'), { body: {} });
  }

  /** Accepts these tools exactly as they were reviewed, so that agents can use them. */
  async accept(name: string, tools: Record<string, string>): Promise<McpServer> {
    return this.http.json(path(name, '/accept'), { body: { tools } });
  }

  async setTool(name: string, tool: string, settings: { enabled?: boolean; effect?: Effect }): Promise<McpServer> {
    return this.http.json(path(name, route`/tools/${{ tool }}`), { method: 'PUT', body: settings });
  }

  /** Returns the address at which a browser signs in to the server. */
  async beginLogin(name: string, redirectUri: string): Promise<Schema<'McpLoginBegun'>> {
    return this.http.json(path(name, '/login'), { body: { redirect_uri: redirectUri } });
  }

  /** Finishes the sign-in with the parameters that the browser brought to `redirectUri`. */
  async finishLogin(name: string, callback: Sent<'McpCallback'>): Promise<McpServer> {
    return this.http.json(path(name, '/login/finish'), { body: callback });
  }

  async logout(name: string): Promise<McpServer> {
    return this.http.json(path(name, '/logout'), { body: {} });
  }

  async remove(name: string): Promise<void> {
    await this.http.response(path(name), { method: 'DELETE' });
  }
}
