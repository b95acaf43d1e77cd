import { checkOneOf, route } from './check.js';
import { OnyxError } from './error.js';
import { withMediaType } from './files.js';
import type { Http } from './http.js';
import { serverSentEvents } from './lines.js';
import { sleep } from './sleep.js';
import type { Schema } from './wire.js';

const RETRY_FIRST_MS = 200;
const RETRY_LONGEST_MS = 5_000;

/** Knowledge sources that a person attached to a space, channel, thread or agent. */
export type Source = Schema<'SourceView'>;
export type SourceProgress = Schema<'ProgressView'>;
export type SourceScope = { type: 'space' | 'channel' | 'thread' | 'agent'; id: string; space?: string };

/** Where the text comes from. A file is in the vault, or is sent as base64. */
export type Supply =
  | { kind: 'file'; path: string }
  | { kind: 'file'; name: string; mediaType?: string; data: string }
  | { kind: 'folder'; path: string }
  | { kind: 'url'; url: string }
  | { kind: 'text'; text: string };

export class Sources {
  constructor(private readonly http: Http) {}

  /** `scope` is the id of the space, channel, thread or agent. */
  async list(filter: { scope?: string } = {}): Promise<Source[]> {
    return (await this.http.json<{ sources: Source[] }>('/api/sources', { query: filter })).sources;
  }

  async get(id: string): Promise<Source> {
    return this.http.json(route`/api/sources/${{ id }}`);
  }

  /** Adds a source, which is imported in the background; `events` reports the progress. */
  async add(source: { scope: SourceScope; title?: string } & Supply): Promise<Source> {
    checkOneOf('kind', source.kind, ['file', 'folder', 'url', 'text']);
    checkOneOf('scope.type', source.scope?.type ?? '', ['space', 'channel', 'thread', 'agent']);
    return this.http.json('/api/sources', { body: withMediaType(source) });
  }

  /** Reads the source's origin again. */
  async sync(id: string): Promise<Source> {
    return this.http.json(route`/api/sources/${{ id }}`, { body: {} });
  }

  async remove(id: string): Promise<void> {
    return this.http.json(route`/api/sources/${{ id }}`, { method: 'DELETE' });
  }

  /** Streams the progress of an import to its end; after a lost connection it continues with the current state. */
  async *events(id: string, options: { signal?: AbortSignal } = {}): AsyncGenerator<SourceProgress> {
    let pause = RETRY_FIRST_MS;
    for (;;) {
      try {
        const response = await this.http.response(route`/api/sources/${{ id }}/events`, { signal: options.signal });
        if (response.body) {
          for await (const { event, data } of serverSentEvents(response.body)) {
            pause = RETRY_FIRST_MS;
            yield JSON.parse(data) as SourceProgress;
            if (event === 'done') return;
          }
        }
      } catch (error) {
        options.signal?.throwIfAborted();
        if (error instanceof OnyxError && !error.isOffline) throw error;
      }
      await sleep(pause, options.signal);
      pause = Math.min(pause * 2, RETRY_LONGEST_MS);
    }
  }
}
