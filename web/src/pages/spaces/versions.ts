// Versions of a text that saves itself: what was written in one go is one version. Pure.

import type { MemoryVersion } from '@onyx/sdk';

const ONE_GO_MS = 10 * 60_000;

export interface Version {
  /** What restoring it brings back stood before this change. */
  number: number;
  author: string;
  /** When the first and the last change of the go were made. */
  from: string;
  until: string;
  changes: number;
  created: boolean;
}

/** Newest first, as they come: changes by the same hand that follow each other closely are one. */
export function goes(versions: MemoryVersion[]): Version[] {
  const all: Version[] = [];
  for (const { version, author, ts, created } of versions) {
    const last = all.at(-1);
    const isSameGo = last && last.author === author && Date.parse(last.from) - Date.parse(ts) < ONE_GO_MS;
    if (isSameGo) Object.assign(last, { number: version, from: ts, changes: last.changes + 1, created });
    else all.push({ number: version, author, from: ts, until: ts, changes: 1, created });
  }
  return all;
}

const FRONT = /^---\n[\s\S]*?\n---\n+/;

/** The words of a page's file, without the fields above them. */
export const bodyOfFile = (file: string) => file.replace(FRONT, '');
