// What people read of each kind of dependency, and the page where it can be fixed. Pure.

import type { Dependency } from '@onyx/sdk';

interface Kind {
  label: string;
  to?: string;
  action?: string;
}

const KINDS: Record<Dependency['kind'], Kind> = {
  config: { label: 'Configuration', to: '/settings/config', action: 'Open configuration' },
  storage: { label: 'Disk and database', to: '/system/logs', action: 'Open logs' },
  objects: { label: 'Object store', to: '/system/logs', action: 'Open logs' },
  provider: { label: 'Provider', to: '/settings/providers', action: 'Provider settings' },
  memory: { label: 'Memory search', to: '/memory', action: 'Open memory' },
  disk: { label: 'Disk' },
  index: { label: 'Index', to: '/memory', action: 'Open memory' },
  embedder: { label: 'Search by meaning', to: '/settings/config', action: 'Open configuration' },
  search: { label: 'Web search', to: '/settings/config', action: 'Open configuration' },
  sandbox: { label: 'Commands' },
  docker: { label: 'Docker' },
  menos: { label: 'menos', to: '/settings/config', action: 'Open configuration' },
  connector: { label: 'Connector', to: '/connectors', action: 'Open connectors' },
  mcp: { label: 'MCP server', to: '/tools', action: 'Open MCP servers' },
  plugin: { label: 'Plugin', to: '/plugins', action: 'Open plugins' },
  jobs: { label: 'Jobs', to: '/jobs', action: 'Open jobs' },
  gateway: { label: 'Subscription gateway', to: '/settings/you', action: 'Open your settings' },
};

export function kindOf({ kind, instance }: Pick<Dependency, 'kind' | 'instance'>): Kind {
  const known = KINDS[kind];
  return instance ? { ...known, label: `${known.label} ${instance}` } : known;
}
