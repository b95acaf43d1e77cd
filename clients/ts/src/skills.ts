import type { Http } from './http';

export type SkillState = 'ready' | 'new' | 'changed' | 'shadowed' | 'broken';

/** Instructions that an agent opens when it needs them. */
export interface Skill {
  name: string;
  place: 'agent' | 'vault' | 'vault_shared';
  /** The agent in whose folder it lies. */
  agent?: string;
  path: string;
  state: SkillState;
  /** Why it is no skill. */
  problem?: string;
  description: string;
  /** What it asks to be allowed; nothing is allowed by it. */
  allowedTools?: string;
  hash: string;
  /** Beside its `SKILL.md`, with their sizes. */
  files: Record<string, number>;
  /** The whole `SKILL.md`; left out in lists. */
  text?: string;
  /** What waits to be accepted. */
  diff?: string;
}

const path = (name: string, rest = '') => `/api/skills/${encodeURIComponent(name)}${rest}`;

export class Skills {
  constructor(private readonly http: Http) {}

  async list(): Promise<Skill[]> {
    return (await this.http.json<{ skills: Skill[] }>('/api/skills')).skills;
  }

  get(name: string, agent?: string): Promise<Skill> {
    return this.http.json(path(name, agent ? `?agent=${encodeURIComponent(agent)}` : ''));
  }

  /** Writes a skill of the vault and accepts it. */
  write(name: string, text: string): Promise<Skill> {
    return this.http.json(path(name), { method: 'PUT', body: { text } });
  }

  /** Lets agents open it, exactly as it was looked at. */
  accept(name: string, hash: string): Promise<Skill> {
    return this.http.json(path(name, '/accept'), { body: { hash } });
  }

  /** Brings skills of somebody else along; they wait to be accepted. */
  async bring(from: { zip: string; name?: string } | { git: string }): Promise<Skill[]> {
    return (await this.http.json<{ skills: Skill[] }>('/api/skills/import', { body: from })).skills;
  }

  async remove(name: string): Promise<void> {
    await this.http.response(path(name), { method: 'DELETE' });
  }
}
