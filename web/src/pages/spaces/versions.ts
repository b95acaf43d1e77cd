// Versions of an automatically saved text: changes in quick succession count as one version. Pure.

import type { MemoryVersion } from '@onyx/sdk';

const ONE_GO_MS = 10 * 60_000;

export interface Version {
  /** The change to restore: it brings back the text before it. */
  number: number;
  author: string;
  /** The times of the first and the last change. */
  from: string;
  until: string;
  changes: number;
  created: boolean;
}

/** Groups close changes of the same author; newest first, as given. */
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
