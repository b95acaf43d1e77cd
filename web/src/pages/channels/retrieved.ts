// The passages that retrieval found for a message: those given to the model and those without room. Pure.

import type { GivenPiece, ThreadContextPiece } from '@onyx/sdk';

export const SCOPES = ['thread', 'channel', 'space', 'agent'] as const;
export type ScopeName = (typeof SCOPES)[number];

export interface Piece {
  scope: string;
  source: string;
  startLine: number;
  endLine: number;
  text: string;
  /** Its approximate number of tokens. */
  tokens: number;
  title?: string;
  /** The conversation and the message that it is from; absent for files. */
  sessionId?: string | null;
  turn?: string | null;
  score?: number;
  matchType?: ThreadContextPiece['matchType'];
}

/**
 * `cut`: there was no room for the passage; `gone`: it was given then and is not found any more; `since`: it would fit
 * but was not given.
 */
export interface Row extends Piece {
  state: 'given' | 'cut' | 'gone' | 'since';
}

/** The passages that were given to the model with a message. */
export const givenOf = (pieces: GivenPiece[] | undefined): Piece[] =>
  (pieces ?? []).map(({ startLine = 1, endLine = startLine, ...piece }) => ({ ...piece, startLine, endLine }));

const nameOf = ({ source, startLine, endLine }: Piece) => `${source}:${startLine}-${endLine}`;

const pieceOf = ({ scope, fits: _, ...piece }: ThreadContextPiece): Piece => ({ ...piece, scope: scope.type });

/** Compares found and given passages: best first, those no longer found at the end. */
export function compared(given: Piece[], found: ThreadContextPiece[], budget: number): Row[] {
  const went = new Set(given.map(nameOf));
  const left = budget - given.reduce((sum, piece) => sum + piece.tokens, 0);
  const stateOf = (piece: Piece) => (went.has(nameOf(piece)) ? 'given' : piece.tokens > left ? 'cut' : 'since');
  const rows = found.map(pieceOf).map((piece): Row => ({ ...piece, state: stateOf(piece) }));
  const known = new Set(rows.map(nameOf));
  return [
    ...rows,
    ...given.filter((piece) => !known.has(nameOf(piece))).map((piece): Row => ({ ...piece, state: 'gone' })),
  ];
}

/** The passages that a message would be given: the best that fit; a shorter one further down may still fit. */
export const foreseen = (found: ThreadContextPiece[]): Row[] =>
  found.map((piece) => ({ ...pieceOf(piece), state: piece.fits ? 'given' : 'cut' }));

export const wasGiven = ({ state }: Row) => state === 'given' || state === 'gone';

/** The approximate number of tokens of the given passages. */
export const spent = (rows: Row[]) => rows.filter(wasGiven).reduce((sum, row) => sum + row.tokens, 0);
