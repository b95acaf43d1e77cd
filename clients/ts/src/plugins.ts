import type { Http } from './http.js';
import type { DiffLine } from './types.js';

/** The grants that a plugin has once it is accepted. */
export interface PluginGrants {
  /** Hosts that it may contact. */
  network: string[];
  /** Folders that it may read, and those that it may change. */
  read: string[];
  write: string[];
  /** Secrets that it receives, by name. */
  secrets: string[];
  events: string[];
  /** The people whose events it receives; `*` means everyone. */
  people: string[];
  /** Whether it sees the content: text, arguments and results. */
  content: boolean;
}

export interface PluginHook {
  event: string;
  /** Whether it can veto; without its answer the call does not happen. */
  veto: boolean;
  annotate: boolean;
  /** The tools whose calls it receives; empty means all. */
  tools: string[];
  deadlineMs: number;
}

/** A package of another person or company. */
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
  /** Its settings, with secrets shortened. */
  config: Record<string, unknown>;
  hash?: string;
  /** The content to be accepted. */
  diff?: string;
  /** The lines of `diff`, each with its kind. */
  diffLines?: DiffLine[];
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

  /** Adds a plugin, or another version of one; it waits until it is accepted. */
  add(from: { zip: string } | { git: string }): Promise<Plugin> {
    return this.http.json('/api/admin/plugins', { body: from });
  }

  /** Accepts the plugin and its grants, exactly as they were reviewed. */
  accept(name: string, hash: string): Promise<Plugin> {
    return this.http.json(path(name, '/accept'), { body: { hash } });
  }

  /** Switches the plugin on, also restarting one that failed too often. */
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
