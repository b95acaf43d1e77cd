import { encodePath, readFile, writeFile, type StoredFile } from './files';
import type { Http } from './http';
import type { Schema } from './wire';

interface Policy {
  /** Absent: enabled. */
  enabled?: boolean;
  tools?: { allow?: string[]; deny?: string[] };
}

export type AgentSettings = Schema<'AgentView'> & Policy;
export type AgentWithFiles = Schema<'AgentWithFiles'> & Policy;

/** What a person may change of an agent; what is absent stays. */
export interface AgentChange {
  name?: string;
  model?: string | null;
  fallbacks?: string[];
  tier?: AgentSettings['tier'];
  default?: boolean;
  enabled?: boolean;
  temperature?: number | null;
  maxOutputTokens?: number | null;
  tools?: { allow?: string[]; deny?: string[] };
}

export class Agents {
  constructor(private readonly http: Http) {}

  async list(): Promise<AgentSettings[]> {
    return (await this.http.json<{ agents: AgentSettings[] }>('/v1/agents')).agents;
  }

  get(id: string): Promise<AgentWithFiles> {
    return this.http.json(`/v1/agents/${id}`);
  }

  create(agent: AgentChange & { id: string }): Promise<AgentSettings> {
    return this.http.json('/v1/agents', { body: agent });
  }

  update(id: string, change: AgentChange): Promise<AgentSettings> {
    return this.http.json(`/v1/agents/${id}`, { method: 'PATCH', body: change });
  }

  async remove(id: string): Promise<void> {
    await this.http.response(`/v1/agents/${id}`, { method: 'DELETE' });
  }

  readFile(id: string, name: string): Promise<StoredFile> {
    return readFile(this.http, `/v1/agents/${id}/files/${encodePath(name)}`);
  }

  writeFile(id: string, name: string, text: string, version?: string): Promise<string> {
    return writeFile(this.http, `/v1/agents/${id}/files/${encodePath(name)}`, text, version);
  }
}
