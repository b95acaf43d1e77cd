import type { Http } from './http.js';

/** What a plugin has once it is accepted, and nothing else. */
export interface PluginGrants {
  /** Servers that it may reach. */
  network: string[];
  /** Folders that it may read, and those that it may change. */
  read: string[];
  write: string[];
  /** Secrets that it is given, by name. */
  secrets: string[];
  events: string[];
  /** Whose events; `*` is everybody. */
  people: string[];
  /** It sees words, arguments and results. */
  content: boolean;
}

export interface PluginHook {
  event: string;
  /** It can say no; without its answer the call does not happen. */
  veto: boolean;
  annotate: boolean;
  /** The tools whose calls it hears of; all where there are none. */
  tools: string[];
  deadlineMs: number;
}

/** A package of somebody else. */
export interface Plugin {
  name: string;
  version?: string;
  description: string;
  state: 'new' | 'changed' | 'accepted' | 'missing' | 'broken';
  enabled: boolean;
  status: 'idle' | 'starting' | 'running' | 'failing' | 'parked';
  problems: string[];
  grants: PluginGrants;
  hooks: PluginHook[];
  connectors: string[];
  mcpServers: string[];
  skills: string[];
  /** A JSON schema of its settings. */
  configSchema?: Record<string, unknown>;
  /** Its settings, secrets shortened. */
  config: Record<string, unknown>;
  hash?: string;
  /** What waits to be accepted. */
  diff?: string;
  log: string[];
}

const path = (name: string, rest = '') => `/api/admin/plugins/${encodeURIComponent(name)}${rest}`;

export class Plugins {
  constructor(private readonly http: Http) {}

  async list(): Promise<Plugin[]> {
    return (await this.http.json<{ plugins: Plugin[] }>('/api/admin/plugins')).plugins;
  }

  get(name: string): Promise<Plugin> {
    return this.http.json(path(name));
  }

  /** Brings a plugin along, or another version of one; it waits to be accepted. */
  add(from: { zip: string } | { git: string }): Promise<Plugin> {
    return this.http.json('/api/admin/plugins', { body: from });
  }

  /** Accepts it and what it asks for, exactly as it was looked at. */
  accept(name: string, hash: string): Promise<Plugin> {
    return this.http.json(path(name, '/accept'), { body: { hash } });
  }

  /** Switches it on; one that failed too often starts again. */
  enable(name: string): Promise<Plugin> {
    return this.http.json(path(name, '/enable'), { body: {} });
  }

  disable(name: string): Promise<Plugin> {
    return this.http.json(path(name, '/disable'), { body: {} });
  }

  setConfig(name: string, config: Record<string, unknown>): Promise<Plugin> {
    return this.http.json(path(name, '/config'), { method: 'PUT', body: config });
  }

  async remove(name: string): Promise<void> {
    await this.http.response(path(name), { method: 'DELETE' });
  }
}
