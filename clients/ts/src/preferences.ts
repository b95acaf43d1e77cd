import type { Http } from './http.js';
import type { Schema } from './wire.js';

export type RuntimeMode = Schema<'RuntimeMode'>;
/** A person's preferences for their agents. */
export type Choices = Schema<'PreferencesView'>;
/** The health of the runtime that a person chose for Anthropic's models. */
export type AgentRuntime = Schema<'AgentRuntime'>;

export class Preferences {
  constructor(private readonly http: Http) {}

  async get(): Promise<Choices> {
    return this.http.json('/api/agent/config');
  }

  health(): Promise<Schema<'AgentHealth'>> {
    return this.http.json('/api/agent/health');
  }

  async set(change: Partial<Pick<Choices, 'runtimeMode' | 'fallback'>> & { timezone?: string }): Promise<Choices> {
    const { runtimeMode, fallback, timezone } = change;
    return this.http.json('/api/agent/config', { body: { runtime_mode: runtimeMode, fallback, timezone } });
  }
}
