import { createContext, useContext } from 'react';

export interface Citation {
  source: string;
  startLine: number;
  endLine: number;
  /** The source and chunk it is part of, where a search found it. */
  sourceId?: string;
  chunkId?: string;
  /** The title of the source. */
  title?: string;
  /** The conversation and the message that were found; absent for files. */
  sessionId?: string | null;
  turn?: string | null;
  /** An agent wrote the path in its text: it may lack its root. */
  written?: true;
}

/** The sources that the numbers in an answer refer to. */
export const Citations = createContext<Citation[] | undefined>(undefined);

export function useCitation(): ((number: number) => Citation | undefined) | undefined {
  const pieces = useContext(Citations);
  return pieces && ((number) => pieces[number - 1]);
}

/** The address in the app that shows a source: a chat at the message, a file at the line. */
export function placeOf({ source, startLine, endLine, sessionId, turn, written }: Citation): string {
  if (sessionId) return `/chat/${encodeURIComponent(sessionId)}${turn ? `?${new URLSearchParams({ turn })}` : ''}`;
  const name = written ? 'cited' : 'path';
  return `/memory?${new URLSearchParams({ [name]: source, line: String(startLine), last: String(endLine) })}`;
}

/** One of the person's files with a line, in the form in which agents cite: `notes/cabin.md:12-40`. */
const FILE_LINE =
  /(?<![\p{L}\p{N}/:.@-])((?:[\p{L}\p{N}._-]+\/)*[\p{L}\p{N}._-]+\.(?:md|txt)):(\d{1,6})(?:[-–](\d{1,6}))?(?![\p{L}\p{N}])/gu;
const NUMBER = /\[(\d{1,2})\]/g;

export type Bit = string | { words: string; of: Citation; number?: number };

/** Splits a text at its citations. */
export function cut(text: string, source: ((number: number) => Citation | undefined) | undefined): Bit[] {
  const found: { at: number; length: number; bit: Bit }[] = [];
  for (const match of text.matchAll(FILE_LINE)) {
    const [words, path = '', first, last] = match;
    found.push({
      at: match.index,
      length: words.length,
      bit: { words, of: { source: path, startLine: Number(first), endLine: Number(last ?? first), written: true } },
    });
  }
  for (const match of source ? text.matchAll(NUMBER) : []) {
    const number = Number(match[1]);
    const of = source?.(number);
    if (of) found.push({ at: match.index, length: match[0].length, bit: { words: String(number), of, number } });
  }
  if (found.length === 0) return [text];
  const bits: Bit[] = [];
  let end = 0;
  for (const { at, length, bit } of found.sort((a, b) => a.at - b.at)) {
    if (at > end) bits.push(text.slice(end, at));
    bits.push(bit);
    end = at + length;
  }
  if (end < text.length) bits.push(text.slice(end));
  return bits;
}
