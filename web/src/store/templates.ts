// Action files and their prompts as people see them. Pure; the server reads them for itself when they are run.

import type { Action } from '@onyx/sdk';

export interface Values {
  date: string;
  time: string;
  person: string;
  selection: string;
}

const FRONT = /^\uFEFF?---[ \t]*\r?\n(?:[\s\S]*?\r?\n)?---[ \t]*(?:\r?\n|$)/;
const FIELD = /\{\{\s*(date|time|person|selection)\s*\}\}/g;
const EXTENSIONS = ['.md', '.prompt.md'];

/** The prompt of a file, without what stands before it. */
export const promptOf = (file: string): string => file.replace(FRONT, '').trim();

export const asksForSelection = (prompt: string): boolean =>
  [...prompt.matchAll(FIELD)].some(([, name]) => name === 'selection');

/** As it will be said: fields filled in, and a selection that has no place in it behind it. */
export function filled(prompt: string, values: Values): string {
  const text = prompt.replace(FIELD, (_, name: keyof Values) => values[name]);
  return values.selection && !asksForSelection(prompt) ? `${text}\n\n${values.selection}` : text;
}

/** What the fields stand for at this moment, as the server counts it. */
export function valuesAt(now: Date, person: string, selection: string): Values {
  const iso = now.toISOString();
  return { date: iso.slice(0, 10), time: iso.slice(11, 16), person, selection };
}

/** The files that may be the one an action was made from, the likeliest first. Two of one label are told apart by their order. */
export function candidates(action: Action, all: Action[]): string[] {
  const same = all.filter((other) => other.label === action.label);
  const names = EXTENSIONS.map((end) => `${action.label}${end}`);
  return same.length > 1 ? names.slice(same.findIndex((other) => other.id === action.id)).slice(0, 1) : names;
}

/** A step that was only tried: what it would have done, and what would have become of it. */
export interface Rehearsed {
  what: string;
  effect: string;
  verdict: string;
  /** The change or the words that it would have made. */
  preview: string;
}

const REHEARSED = /^dry run, nothing was done: (.*) \((\w+): (\w+)\)\n?([\s\S]*)$/;

export function rehearsed(output: string): Rehearsed | undefined {
  const [, what, effect = '', verdict = '', preview = ''] = REHEARSED.exec(output) ?? [];
  return what === undefined ? undefined : { what, effect, verdict, preview };
}

/** Where a run leaves its page in the vault. */
export const artifactOf = (runId: string): string =>
  `vault/agent/runs/${startOf(runId).toISOString().slice(0, 10).replaceAll('-', '/')}/${runId}.md`;

/** A run's id begins with its time. */
export const startOf = (runId: string): Date => new Date(Number.parseInt(runId.replace('-', '').slice(0, 12), 16));

/** The lines of a page's front matter. */
export function frontOf(file: string): Record<string, string> {
  const front = FRONT.exec(file)?.[0] ?? '';
  const pairs = [...front.matchAll(/^([a-z_]+): *(.*?) *\r?$/gm)].map(([, key = '', value = '']) => [
    key,
    value.replace(/^"(.*)"$/, '$1'),
  ]);
  return Object.fromEntries(pairs) as Record<string, string>;
}
