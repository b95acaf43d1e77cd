import { checkText, encodePath, route } from './check.js';
import { readFile, writeFile, type StoredFile } from './files.js';
import type { Http } from './http.js';
import type { Schema, Sent } from './wire.js';

/** An agent's own settings; for absent ones the defaults apply. */
export type AgentFields = Partial<Schema<'AgentFields'>>;
/** An agent with its settings, completed from the defaults. */
export type AgentSettings = Schema<'AgentView'>;
export type AgentDetails = Schema<'AgentDetails'>;

export class Agents {
  constructor(private readonly http: Http) {}

  async list(): Promise<AgentSettings[]> {
    return (await this.http.json<{ agents: AgentSettings[] }>('/v1/agents')).agents;
  }

  async get(id: string): Promise<AgentDetails> {
    return this.http.json(route`/v1/agents/${{ id }}`);
  }

  async create(agent: AgentFields & { id: string }): Promise<AgentDetails> {
    checkText('id', agent.id);
    return this.http.json('/v1/agents', { body: { id: agent.id, ...bodyOf(agent) } });
  }

  /** Changes only the named fields; null resets one to its default. */
  async update(id: string, change: AgentFields): Promise<AgentDetails> {
    return this.http.json(route`/v1/agents/${{ id }}`, { method: 'PATCH', body: bodyOf(change) });
  }

  async remove(id: string): Promise<void> {
    await this.http.response(route`/v1/agents/${{ id }}`, { method: 'DELETE' });
  }

  async readFile(id: string, name: string): Promise<StoredFile> {
    return readFile(this.http, route`/v1/agents/${{ id }}/files/${encodePath(name)}`);
  }

  /** "I have read this": accepts text that an agent wrote into its own file. `version` is what was read. */
  async acceptFile(id: string, name: string, version: string): Promise<void> {
    const path = route`/v1/agents/${{ id }}/files/${encodePath(name)}/accept`;
    await this.http.response(path, { body: { seen: version } });
  }

  async writeFile(id: string, name: string, text: string, version?: string): Promise<string> {
    return writeFile(this.http, route`/v1/agents/${{ id }}/files/${encodePath(name)}`, text, version);
  }
}

/** Every field must be named here, also one that is not set and therefore not sent. */
type AgentBody = { [Key in keyof Sent<'AgentFields'>]: Sent<'AgentFields'>[Key] | undefined };

function bodyOf(fields: AgentFields): AgentBody {
  const { maxOutputTokens, memoryRead, memoryRetrieval, localOnly, workspace } = fields;
  const { name, enabled, tier, model, fallbacks, tools, temperature } = fields;
  return {
    name,
    default: fields.default,
    enabled,
    tier,
    model,
    fallbacks,
    tools,
    temperature,
    max_output_tokens: maxOutputTokens,
    workspace,
    memory_read: memoryRead,
    memory_retrieval: memoryRetrieval,
    local_only: localOnly,
  };
}
