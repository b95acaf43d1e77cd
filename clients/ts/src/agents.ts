import { checkText, encodePath, route } from './check.js';
import { readFile, writeFile, type StoredFile } from './files.js';
import type { Http } from './http.js';
import type { Schema, Sent } from './wire.js';

/** What an agent says of itself; what is absent is as the defaults have it. */
export type AgentFields = Partial<Schema<'AgentFields'>>;
/** An agent as it works: what it says itself, filled in from the defaults. */
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

  /** Only what is named changes; null leaves it to the defaults. */
  async update(id: string, change: AgentFields): Promise<AgentDetails> {
    return this.http.json(route`/v1/agents/${{ id }}`, { method: 'PATCH', body: bodyOf(change) });
  }

  async remove(id: string): Promise<void> {
    await this.http.response(route`/v1/agents/${{ id }}`, { method: 'DELETE' });
  }

  async readFile(id: string, name: string): Promise<StoredFile> {
    return readFile(this.http, route`/v1/agents/${{ id }}/files/${encodePath(name)}`);
  }

  /** "I have read this": what an agent wrote into its own file counts as the owner's. `version` is what was read. */
  async acceptFile(id: string, name: string, version: string): Promise<void> {
    const path = route`/v1/agents/${{ id }}/files/${encodePath(name)}/accept`;
    await this.http.response(path, { body: { seen: version } });
  }

  async writeFile(id: string, name: string, text: string, version?: string): Promise<string> {
    return writeFile(this.http, route`/v1/agents/${{ id }}/files/${encodePath(name)}`, text, version);
  }
}

/** As it is sent; what is not named is left out. */
function bodyOf(fields: AgentFields): Partial<Sent<'AgentFields'>> {
  const { maxOutputTokens, memoryRead, name, enabled, tier, model, fallbacks, tools, temperature, workspace } = fields;
  const others = { name, default: fields.default, enabled, tier, model, fallbacks, tools, temperature, workspace };
  return { ...others, max_output_tokens: maxOutputTokens, memory_read: memoryRead };
}
