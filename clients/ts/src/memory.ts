import { checkOneOf, checkText, encodePath } from './check.js';
import { readFile, writeFile, type StoredFile } from './files.js';
import type { Http } from './http.js';
import type { ContextPiece } from './types.js';
import type { Schema } from './wire.js';

export interface MemoryHit {
  /** What it is: a memory, a note, a page, … */
  source: string;
  path: string;
  title: string;
  heading: string;
  scope: ContextPiece['scope'];
  origin: ContextPiece['origin'];
  startLine: number;
  endLine: number;
  text: string;
  /** A part of the text in pieces; a hit is what was looked for. */
  snippet: { text: string; hit: boolean }[];
  score: number;
  matchType: ContextPiece['matchType'];
  modified: string;
}

export interface MemoryAnswer {
  results: MemoryHit[];
  /** Meaning was not searched for, only words; `reason` says why. */
  degraded: boolean;
  reason?: string;
  /** Not everything is indexed yet: more may be found later. */
  partial: boolean;
}

export interface MemoryFile {
  path: string;
  source: string;
  title: string;
  size: number;
  modified: string;
  /** Why nothing of it can be found. */
  problem?: string | null;
}

/** A change of a file; restoring it brings back what the file held before. */
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

/** How the index is, for whoever wonders why something was not found. */
export interface MemoryStatus {
  sources: number;
  chunks: number;
  vectors: number;
  complete: boolean;
  waiting: number;
  progress?: { done: number; total: number } | null;
  syncedAt?: string | null;
  embedding: { state: 'off' } | { state: 'ready'; model: string } | { state: 'failing'; model: string; reason: string };
  error?: string | null;
  problemCount: number;
  problems: { path: string; reason: string }[];
}

/** Somebody or something that is known, in a list. */
export interface KnownEntity {
  name: string;
  facts: number;
  lastSaid: string;
}

/** A text that says a fact. */
export interface FactSource {
  path: string;
  title: string;
  line: number;
  text: string;
  origin: ContextPiece['origin'];
  saidAt: string;
  /** `rules`, or the model that found it. */
  foundBy: string;
  author?: string;
  turn?: string;
}

export interface KnownFact {
  subject: string;
  relation: string;
  object: string;
  objectIsEntity: boolean;
  from: string;
  /** Absent while it holds. */
  until?: string;
  /** False: nothing but text from outside says it. */
  trusted: boolean;
  sources: FactSource[];
}

/** What came of going through the daily logs. */
export type KeptMemories = Schema<'KeepingReport'>;

export interface EntityPage {
  name: string;
  also: string[];
  facts: KnownFact[];
  partial: boolean;
}

/** What agents remember and what they may read: plain files, and the search over them. */
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

  /** Who and what is known, by a part of the name. */
  async known(q?: string): Promise<KnownEntity[]> {
    return (await this.http.json<{ entities: KnownEntity[] }>('/v1/memory/graph', { query: { q } })).entities;
  }

  /** Everything that is said of one. */
  async entity(name: string): Promise<EntityPage> {
    return (await this.http.json<{ entity: EntityPage }>('/v1/memory/graph', { query: { entity: name } })).entity;
  }

  /** Makes several names one. */
  async merge(into: string, names: string[]): Promise<EntityPage> {
    const body = { into, names };
    return (await this.http.json<{ entity: EntityPage }>('/v1/memory/graph/merge', { body })).entity;
  }

  /** Takes a name out of another; with `into`, only what these texts call by it. */
  async split(name: string, apart?: { into: string; paths: string[] }): Promise<EntityPage> {
    const body = { name, apart };
    return (await this.http.json<{ entity: EntityPage }>('/v1/memory/graph/split', { body })).entity;
  }

  /** A page of the files, in the order of their paths; `types` by commas. */
  async files(
    query: { types?: string; after?: string; limit?: number } = {},
  ): Promise<{ files: MemoryFile[]; after?: string }> {
    return this.http.json('/v1/memory/files', { query });
  }

  /** Writes into the day's log, or under a heading of MEMORY.md; the path. */
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

  /** Has an agent go through its daily logs and propose what to keep; the drafts wait for a decision. */
  async keep(agent?: string): Promise<KeptMemories> {
    return this.http.json('/v1/memory/keep', { body: { agent } });
  }

  async read(path: string): Promise<StoredFile> {
    return readFile(this.http, `/v1/memory/files/${encodePath(path)}`);
  }

  async write(path: string, text: string, version?: string): Promise<string> {
    return writeFile(this.http, `/v1/memory/files/${encodePath(path)}`, text, version);
  }

  /** A file that is no text, as it is. */
  async bytes(path: string): Promise<ArrayBuffer> {
    return (await this.http.response(`/v1/memory/files/${encodePath(path)}`)).arrayBuffer();
  }

  /** Keeps a picture or a document under `vault/attachments/`; refused where one of that name is there already. */
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

  /** What the file held before that change. */
  async version(path: string, version: number): Promise<string> {
    return this.http.text(`/v1/memory/files/${encodePath(path)}`, { query: { version } });
  }

  /** "I have read this": what the file holds becomes the person's own. `version` is what was read. */
  async accept(path: string, version: string): Promise<void> {
    await this.http.json(`/v1/memory/files/${encodePath(path)}/accept`, { body: { seen: version } });
  }

  async restore(path: string, version: number): Promise<void> {
    await this.http.json(`/v1/memory/files/${encodePath(path)}/restore`, { body: { version } });
  }
}
