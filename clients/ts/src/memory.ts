import { encodePath, readFile, writeFile, type StoredFile } from './files';
import type { Http } from './http';
import type { ContextPiece } from './types';

export interface MemoryHit {
  source: string;
  path: string;
  title: string;
  scope: ContextPiece['scope'];
  startLine: number;
  endLine: number;
  text: string;
  score: number;
  matchType: ContextPiece['matchType'];
}

export interface MemoryAnswer {
  results: MemoryHit[];
  /** Why the answer may lack something; absent when nothing is known to be missing. */
  degraded?: string | boolean | null;
}

export interface MemoryFile {
  path: string;
  size?: number;
  updatedAt?: string;
}

export interface MemoryVersion {
  version: string;
  at: string;
  by?: string;
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

/** What agents remember and what they may read: plain files, and the search over them. */
export class Memory {
  constructor(private readonly http: Http) {}

  search(query: { q: string; agent?: string; scope?: string; limit?: number }, signal?: AbortSignal): Promise<MemoryAnswer> {
    return this.http.json('/v1/memory/search', { query, signal });
  }

  status(): Promise<MemoryStatus> {
    return this.http.json('/v1/memory/status');
  }

  async files(): Promise<MemoryFile[]> {
    return (await this.http.json<{ files: MemoryFile[] }>('/v1/memory/files')).files;
  }

  remember(entry: { agent: string; text: string; target: 'daily' | 'memory'; heading?: string }): Promise<void> {
    return this.http.json('/v1/memory', { body: entry });
  }

  read(path: string): Promise<StoredFile> {
    return readFile(this.http, `/v1/memory/files/${encodePath(path)}`);
  }

  write(path: string, text: string, version?: string): Promise<string> {
    return writeFile(this.http, `/v1/memory/files/${encodePath(path)}`, text, version);
  }

  async remove(path: string, version: string): Promise<void> {
    await this.http.response(`/v1/memory/files/${encodePath(path)}`, { method: 'DELETE', headers: { 'if-match': version } });
  }

  async history(path: string): Promise<MemoryVersion[]> {
    return (await this.http.json<{ versions: MemoryVersion[] }>(`/v1/memory/files/${encodePath(path)}/history`)).versions;
  }

  version(path: string, version: string): Promise<string> {
    return this.http.text(`/v1/memory/files/${encodePath(path)}`, { query: { version } });
  }

  async restore(path: string, version: string): Promise<void> {
    await this.http.json(`/v1/memory/files/${encodePath(path)}/restore`, { body: { version } });
  }
}
