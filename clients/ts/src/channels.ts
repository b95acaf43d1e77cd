import { route } from './check.js';
import type { Http } from './http.js';
import type { Schema } from './wire.js';

/** A channel: a place in a space where coworkers answer in threads. */
export type Channel = Schema<'ChannelView'>;
/** An agent that is assigned to a channel. The primary answers if a message calls no one. */
export type Coworker = Schema<'CoworkerView'>;

export class Channels {
  constructor(private readonly http: Http) {}

  async list(filter: { space?: string } = {}): Promise<Channel[]> {
    return (await this.http.json<{ channels: Channel[] }>('/api/channels', { query: filter })).channels;
  }

  async get(id: string): Promise<Channel> {
    return this.http.json(address(id));
  }

  async create(channel: { space: string; name: string; purpose?: string }): Promise<Channel> {
    return this.http.json('/api/channels', { body: channel });
  }

  /** Changes only the named fields. */
  async update(id: string, change: { name?: string; purpose?: string }): Promise<Channel> {
    return this.http.json(address(id), { method: 'PATCH', body: change });
  }

  /** Deletes the channel with its threads. */
  async remove(id: string): Promise<void> {
    return this.http.json(address(id), { method: 'DELETE' });
  }

  async coworkers(id: string): Promise<Coworker[]> {
    return (await this.http.json<{ coworkers: Coworker[] }>(`${address(id)}/coworkers`)).coworkers;
  }

  /** Assigns a coworker. For one who is assigned already, only the primary changes. */
  async assign(id: string, coworker: { agent: string; primary?: boolean }): Promise<Coworker[]> {
    return (await this.http.json<{ coworkers: Coworker[] }>(`${address(id)}/coworkers`, { body: coworker })).coworkers;
  }

  async setPrimary(id: string, agent: string, primary = true): Promise<Coworker[]> {
    const { coworkers } = await this.http.json<{ coworkers: Coworker[] }>(
      route`${address(id)}/coworkers/${{ agent }}`,
      { method: 'PATCH', body: { primary } },
    );
    return coworkers;
  }

  async dismiss(id: string, agent: string): Promise<void> {
    return this.http.json(route`${address(id)}/coworkers/${{ agent }}`, { method: 'DELETE' });
  }
}

const address = (id: string) => route`/api/channels/${{ id }}`;
