import type { Http } from './http.js';
import type { Schema } from './wire.js';

/** The grants that a plugin has once it is accepted. */
export type PluginGrants = Schema<'GrantsView'>;
export type PluginHook = Schema<'HookView'>;

/** A package of another person or company. */
export interface Plugin extends Schema<'PluginWire'> {
  /** A JSON schema of its settings. */
  configSchema?: Record<string, unknown>;
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
