import { route } from './check.js';
import type { Http } from './http.js';
import type { Schema, Sent } from './wire.js';

export type Effect = Schema<'ToolEffect'>;

/** A tool of another program. */
export type McpTool = Schema<'McpToolView'>;

/** A program that offers tools. */
export type McpServer = Schema<'McpServerView'>;

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
