import { route } from './check.js';
import type { Http } from './http.js';
import type { Schema } from './wire.js';

/** A place in a space where coworkers answer in threads. */
export type Channel = Schema<'ChannelView'>;
/** An agent that works in a channel; the primary answers where nobody is named. */
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

  /** Only what is named changes. */
  async update(id: string, change: { name?: string; purpose?: string }): Promise<Channel> {
    return this.http.json(address(id), { method: 'PATCH', body: change });
  }

  /** With its threads. */
  async remove(id: string): Promise<void> {
    return this.http.json(address(id), { method: 'DELETE' });
  }

  async coworkers(id: string): Promise<Coworker[]> {
    return (await this.http.json<{ coworkers: Coworker[] }>(`${address(id)}/coworkers`)).coworkers;
  }

  /** Assigning one who is there changes only whether they are the primary. */
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
