import { checkOneOf, checkText, encodePath } from './check.js';
import { readFile, writeFile, type StoredFile } from './files.js';
import type { Http } from './http.js';
import type { Schema } from './wire.js';

/** A passage that a search found. */
export type MemoryHit = Schema<'SearchHitView'>;
export type MemoryAnswer = Schema<'SearchResultsView'>;
export type MemoryFile = Schema<'FileView'>;

/** A change of a file. Restoring it brings back the content before it. */
export interface MemoryVersion {
  version: number;
  ts: string;
  /** `person:<id>`, `agent:<id>` or `system`. */
  author: string;
  runId?: string | null;
  tool: string;
  created: boolean;
  deleted: boolean;
}

/** The state of the index, to explain why something was not found. */
export type MemoryStatus = Schema<'IndexStatus'>;
/** A known person or thing, in a list. */
export type KnownEntity = Schema<'GraphEntity'>;
/** A text that says a fact. */
export type FactSource = Schema<'FactSource'>;
export type KnownFact = Schema<'FactView'>;
/** Everything known about a person or thing. */
export type EntityPage = Schema<'GraphEntityPage'>;
/** The result of reviewing the daily logs. */
export type KeptMemories = Schema<'KeepingReport'>;

/** What agents remember and may read: plain files and the search over them. */
export class Memory {
  constructor(private readonly http: Http) {}

  async search(
    query: { q: string; agent?: string; scope?: string; limit?: number },
    signal?: AbortSignal,
  ): Promise<MemoryAnswer> {
    checkText('q', query.q);
    return this.http.json('/v1/memory/search', { query, signal });
  }

  async status(): Promise<MemoryStatus> {
    return this.http.json('/v1/memory/status');
  }

  /** Lists known people and things by a part of their name. */
  async known(q?: string): Promise<KnownEntity[]> {
    return (await this.http.json<{ entities: KnownEntity[] }>('/v1/memory/graph', { query: { q } })).entities;
  }

  /** Everything known about one of them. */
  async entity(name: string): Promise<EntityPage> {
    return (await this.http.json<{ entity: EntityPage }>('/v1/memory/graph', { query: { entity: name } })).entity;
  }

  /** Merges several names into one. */
  async merge(into: string, names: string[]): Promise<EntityPage> {
    const body = { into, names };
    return (await this.http.json<{ entity: EntityPage }>('/v1/memory/graph/merge', { body })).entity;
  }

  /** Splits a merged name off again; with `into`, only for these texts. */
  async split(name: string, apart?: { into: string; paths: string[] }): Promise<EntityPage> {
    const body = { name, apart };
    return (await this.http.json<{ entity: EntityPage }>('/v1/memory/graph/split', { body })).entity;
  }

  /** One page of the files, ordered by path; `types` are separated by commas. */
  async files(query: { types?: string; after?: string; limit?: number } = {}): Promise<Schema<'FileList'>> {
    return this.http.json('/v1/memory/files', { query });
  }

  /** Appends to the daily log, or under a heading of MEMORY.md; returns the path. */
  async remember(entry: {
    agent?: string;
    text: string;
    target: 'daily' | 'memory';
    heading?: string;
  }): Promise<string> {
    checkText('text', entry.text);
    checkOneOf('target', entry.target, ['daily', 'memory']);
    if (entry.target === 'memory') checkText('heading', entry.heading);
    return (await this.http.json<{ path: string }>('/v1/memory', { body: entry })).path;
  }

  /** Lets an agent review its daily logs and propose, as drafts, what to keep. */
  async keep(agent?: string): Promise<KeptMemories> {
    return this.http.json('/v1/memory/keep', { body: { agent } });
  }

  /** `cited`: the path is as an agent wrote it; the answer has the path from the person's root. */
  async read(path: string, { cited }: { cited?: boolean } = {}): Promise<StoredFile> {
    return readFile(this.http, `/v1/memory/files/${encodePath(path)}`, { cited: cited || undefined });
  }

  async write(path: string, text: string, version?: string): Promise<string> {
    return writeFile(this.http, `/v1/memory/files/${encodePath(path)}`, text, version);
  }

  /** Reads a binary file. */
  async bytes(path: string): Promise<ArrayBuffer> {
    return (await this.http.response(`/v1/memory/files/${encodePath(path)}`)).arrayBuffer();
  }

  /** Saves a picture or document in `vault/attachments/`; refused if the name is taken. */
  async writeBytes(path: string, bytes: Blob): Promise<void> {
    await this.http.response(`/v1/memory/files/${encodePath(path)}`, {
      method: 'PUT',
      bytes,
      headers: { 'if-none-match': '*' },
    });
  }

  async remove(path: string, version: string): Promise<void> {
    await this.http.response(`/v1/memory/files/${encodePath(path)}`, {
      method: 'DELETE',
      headers: { 'if-match': version },
    });
  }

  async history(path: string): Promise<MemoryVersion[]> {
    return (await this.http.json<{ versions: MemoryVersion[] }>(`/v1/memory/files/${encodePath(path)}/history`))
      .versions;
  }

  /** The content of the file before that change; `body`: without its front matter. */
  async version(path: string, version: number, part?: 'body'): Promise<string> {
    return this.http.text(`/v1/memory/files/${encodePath(path)}`, { query: { version, part } });
  }

  /** "I have read this": accepts the file's content as the person's own. `version` is the version read. */
  async accept(path: string, version: string): Promise<void> {
    await this.http.json(`/v1/memory/files/${encodePath(path)}/accept`, { body: { seen: version } });
  }

  async restore(path: string, version: number): Promise<void> {
    await this.http.json(`/v1/memory/files/${encodePath(path)}/restore`, { body: { version } });
  }
}
