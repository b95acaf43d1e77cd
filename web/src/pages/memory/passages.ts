// Where the passages of memory are shown: messages in their chat, everything else in its file. Pure.

import type { FactSource, MemoryHit } from '@onyx/sdk';

export type Passage = { session: string; turn?: string } | { path: string; line: number; last?: number };

export const passageOfHit = ({ session, turn, path, startLine, endLine }: MemoryHit): Passage =>
  session ? { session, turn: turn ?? undefined } : { path, line: startLine, last: endLine };

export const passageOfFact = ({ sessionId, turn, path, line }: FactSource): Passage =>
  sessionId ? { session: sessionId, turn: turn ?? undefined } : { path, line };
