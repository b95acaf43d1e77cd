import { route } from './check.js';
import type { Http } from './http.js';
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
  /** What waits to be accepted. */
  diff?: string;
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
  /** Somebody has signed in there. */
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

  /** Adds servers, as other clients write them down. */
  async add(servers: Record<string, unknown>): Promise<McpServer[]> {
    return (await this.http.json<{ servers: McpServer[] }>('/api/admin/mcp', { body: servers })).servers;
  }

  /** Starts it anew and looks at its tools. */
  async test(name: string): Promise<McpServer> {
    return this.http.json(path(name, '/test'), { body: {} });
  }

  /** Lets agents use these tools, exactly as they were looked at. */
  async accept(name: string, tools: Record<string, string>): Promise<McpServer> {
    return this.http.json(path(name, '/accept'), { body: { tools } });
  }

  async setTool(name: string, tool: string, settings: { enabled?: boolean; effect?: Effect }): Promise<McpServer> {
    return this.http.json(path(name, route`/tools/${{ tool }}`), { method: 'PUT', body: settings });
  }

  /** Where a browser signs in at a server that asks for it. */
  async beginLogin(name: string, redirectUri: string): Promise<Schema<'McpLoginBegun'>> {
    return this.http.json(path(name, '/login'), { body: { redirect_uri: redirectUri } });
  }

  /** What the browser brought to the `redirectUri`. */
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
