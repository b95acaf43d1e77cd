import type { Http } from './http';

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

const path = (name: string, rest = '') => `/api/admin/mcp/${encodeURIComponent(name)}${rest}`;

export class Mcp {
  constructor(private readonly http: Http) {}

  async list(): Promise<McpServer[]> {
    return (await this.http.json<{ servers: McpServer[] }>('/api/admin/mcp')).servers;
  }

  /** Adds servers, as other clients write them down. */
  async add(servers: Record<string, unknown>): Promise<McpServer[]> {
    return (await this.http.json<{ servers: McpServer[] }>('/api/admin/mcp', { body: servers })).servers;
  }

  /** Starts it anew and looks at its tools. */
  test(name: string): Promise<McpServer> {
    return this.http.json(path(name, '/test'), { body: {} });
  }

  /** Lets agents use these tools, exactly as they were looked at. */
  accept(name: string, tools: Record<string, string>): Promise<McpServer> {
    return this.http.json(path(name, '/accept'), { body: { tools } });
  }

  setTool(name: string, tool: string, settings: { enabled?: boolean; effect?: Effect }): Promise<McpServer> {
    return this.http.json(path(name, `/tools/${encodeURIComponent(tool)}`), { method: 'PUT', body: settings });
  }

  async remove(name: string): Promise<void> {
    await this.http.response(path(name), { method: 'DELETE' });
  }
}
