// What retrieval found for a message, what of it the model was given, and what had no room. Pure.

import type { ThreadContextPiece } from '@onyx/sdk';

export const SCOPES = ['thread', 'channel', 'space', 'agent'] as const;
export type ScopeName = (typeof SCOPES)[number];

export interface Piece {
  scope: string;
  source: string;
  startLine: number;
  endLine: number;
  text: string;
  title?: string;
  score?: number;
  matchType?: ThreadContextPiece['matchType'];
}

/** `cut`: there was no room for it; `gone`: given then, and not found any more; `since`: there was room, but it was not there. */
export interface Row extends Piece {
  state: 'given' | 'cut' | 'gone' | 'since';
}

/** Never more, however large the window is. */
const MOST_TOKENS = 6_000;
/** What stands around a piece and its source's name costs about this. */
const FENCE_TOKENS = 40;

/** A fifth of the window; without a known window the most there ever is. */
export function budgetOf(contextWindow: number | undefined | null): number {
  return contextWindow ? Math.min(Math.floor(contextWindow / 5), MOST_TOKENS) : MOST_TOKENS;
}

/** About as many tokens as a piece takes: short words are one each, long ones and other alphabets more. */
export function weight({ text, source }: Pick<Piece, 'text' | 'source'>): number {
  const words = `${source} ${text}`.match(/[\p{L}\p{M}]+|\p{N}{1,3}|[^\s\p{L}\p{M}\p{N}]+|\n+/gu) ?? [];
  return FENCE_TOKENS + words.reduce((sum, word) => sum + Math.max(1, Math.ceil(word.length / 6)), 0);
}

const PIECE = /^<<(untrusted-[0-9a-f]+) \[([^\]]*)\] (.+?)(?::(\d+)-(\d+))?\n([\s\S]*?)\n\1>>$/gm;

/** The pieces of the block that went to the model beside a message. */
export function piecesIn(block: string | undefined): Piece[] {
  return [...(block ?? '').matchAll(PIECE)].map(([, , scope = '', source = '', first, last, text = '']) => ({
    scope: scope.split(/[ :]/)[0] ?? scope,
    source,
    startLine: Number(first ?? 1),
    endLine: Number(last ?? first ?? 1),
    text,
  }));
}

const nameOf = ({ source, startLine, endLine }: Piece) => `${source}:${startLine}-${endLine}`;

const pieceOf = ({ scope, ...piece }: ThreadContextPiece): Piece => ({ ...piece, scope: scope.type });

/** What is found beside what was given; best first, what is found no more at the end. */
export function compared(given: Piece[], found: ThreadContextPiece[], budget: number): Row[] {
  const went = new Set(given.map(nameOf));
  const left = budget - given.reduce((sum, piece) => sum + weight(piece), 0);
  const stateOf = (piece: Piece) => (went.has(nameOf(piece)) ? 'given' : weight(piece) > left ? 'cut' : 'since');
  const rows = found.map(pieceOf).map((piece): Row => ({ ...piece, state: stateOf(piece) }));
  const known = new Set(rows.map(nameOf));
  return [
    ...rows,
    ...given.filter((piece) => !known.has(nameOf(piece))).map((piece): Row => ({ ...piece, state: 'gone' })),
  ];
}

/** What a message of these words would be given: the best that fit; a shorter one further down may still. */
export function foreseen(found: ThreadContextPiece[], budget: number): Row[] {
  let left = budget;
  return found.map(pieceOf).map((piece): Row => {
    const cost = weight(piece);
    const fits = cost <= left;
    if (fits) left -= cost;
    return { ...piece, state: fits ? 'given' : 'cut' };
  });
}

export const wasGiven = ({ state }: Row) => state === 'given' || state === 'gone';

/** About how many tokens of the budget what was given takes. */
export const spent = (rows: Row[]) => rows.filter(wasGiven).reduce((sum, row) => sum + weight(row), 0);

/** What a piece says, without the front matter that every source begins with. */
export const bodyOf = (text: string) => text.replace(/^---\n[\s\S]*?\n---\n+/, '');
