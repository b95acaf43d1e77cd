import { checkText, route } from './check.js';
import type { Http } from './http.js';
import type { Schema } from './wire.js';

export type SkillState = Schema<'SkillStateView'>;

/** Instructions that an agent opens when it needs them. */
export type Skill = Schema<'SkillView'>;

/** A file of a skill; without `text` if it is binary. */
export type SkillFile = Schema<'SkillFileView'>;

const path = (name: string, rest = '') => route`/api/skills/${{ name }}${rest}`;

export class Skills {
  constructor(private readonly http: Http) {}

  async list(): Promise<Skill[]> {
    return (await this.http.json<{ skills: Skill[] }>('/api/skills')).skills;
  }

  async get(name: string, agent?: string): Promise<Skill> {
    return this.http.json(path(name), { query: { agent } });
  }

  /** A file beside its `SKILL.md`. */
  async file(name: string, file: string, agent?: string): Promise<SkillFile> {
    checkText('file', file);
    return this.http.json(path(name, '/file'), { query: { path: file, agent } });
  }

  /** Writes a skill of the vault and accepts it. */
  async write(name: string, text: string): Promise<Skill> {
    return this.http.json(path(name), { method: 'PUT', body: { text } });
  }

  /** Accepts the skill with exactly the reviewed content, so that agents can open it. */
  async accept(name: string, hash: string): Promise<Skill> {
    return this.http.json(path(name, '/accept'), { body: { hash } });
  }

  /** Imports skills of others; they wait until they are accepted. */
  async bring(from: { zip: string; name?: string } | { git: string }): Promise<Skill[]> {
    return (await this.http.json<{ skills: Skill[] }>('/api/skills/import', { body: from })).skills;
  }

  async remove(name: string): Promise<void> {
    await this.http.response(path(name), { method: 'DELETE' });
  }
}
