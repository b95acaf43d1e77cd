import type { Http } from './http.js';

export type RuntimeMode = 'anthropic_api_key' | 'gateway_subscription';

/** A person's preferences for their agents. */
export interface Choices {
  runtimeMode: RuntimeMode;
  /** Whether another model answers when the chosen one cannot. */
  fallback: boolean;
  /** The folder of the vault whose files are actions. */
  actionsPath: string;
  /** The person's choice; `null` means the server's time zone. */
  timezone: string | null;
  /** The time zone that applies now. */
  currentTimezone: string;
}

/** The health of the runtime that a person chose for Anthropic's models. */
export interface AgentRuntime {
  mode: RuntimeMode;
  state: 'ok' | 'degraded' | 'down' | 'off';
  detail?: string;
}

export class Preferences {
  constructor(private readonly http: Http) {}

  async get(): Promise<Choices> {
    return this.http.json('/api/agent/config');
  }

  health(): Promise<{ runtime: AgentRuntime }> {
    return this.http.json('/api/agent/health');
  }

  async set(change: Partial<Pick<Choices, 'runtimeMode' | 'fallback'>> & { timezone?: string }): Promise<Choices> {
    const { runtimeMode, fallback, timezone } = change;
    return this.http.json('/api/agent/config', { body: { runtime_mode: runtimeMode, fallback, timezone } });
  }
}
