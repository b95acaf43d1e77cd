// Arguments are checked before anything is sent, so that a mistake is reported where it was made. Only what is wrong
// for every server is refused here; the server judges the rest.

import { OnyxError } from './error.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** An invalid argument. Nothing was sent, so the error has no `status`. */
export function invalid(field: string, why: string): OnyxError {
  return new OnyxError({
    code: 'invalid_request',
    message: `\`${field}\` ${why}.`,
    hint: 'Correct the argument; nothing was sent.',
    field,
  });
}

export function checkText(field: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw invalid(field, `must be text, not ${named(value)}`);
  if (value.trim() === '') throw invalid(field, 'must not be empty');
}

export function checkUuid(field: string, value: unknown): void {
  if (value === undefined || value === null) return;
  if (typeof value !== 'string' || !UUID.test(value)) throw invalid(field, `must be a UUID, not ${named(value)}`);
}

export function checkOneOf(field: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value as string)) return;
  throw invalid(field, `must be one of ${allowed.join(', ')}, not ${named(value)}`);
}

/** Checks that a number, if there is one, lies between the two. */
export function checkNumber(field: string, value: unknown, [least, most]: [number, number]): void {
  if (value === undefined || value === null) return;
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw invalid(field, `must be a number, not ${named(value)}`);
  if (value < least || value > most) {
    throw invalid(field, most === Infinity ? `must be at least ${least}` : `must be between ${least} and ${most}`);
  }
}

export function checkInteger(field: string, value: unknown, least: number): void {
  checkNumber(field, value, [least, Infinity]);
  if (value !== undefined && value !== null && !Number.isInteger(value)) throw invalid(field, 'must be a whole number');
}

export function checkList(field: string, value: unknown): asserts value is unknown[] {
  if (!Array.isArray(value)) throw invalid(field, `must be a list, not ${named(value)}`);
}

/** Encodes a value for an address. An empty id is refused, because it would lead to another address. */
function segment(field: string, value: unknown): string {
  checkText(field, value);
  if (value === '.' || value === '..') throw invalid(field, `cannot be \`${value}\``);
  return encodeURIComponent(value);
}

/**
 * Makes an address: `` route`/v1/sessions/${{ id }}` ``. Each value is named, so that an error can name it; a plain
 * string is a finished piece of the address.
 */
export function route(fixed: TemplateStringsArray, ...values: (Record<string, unknown> | string)[]): string {
  const filled = values.map((value) => {
    if (typeof value === 'string') return value;
    const [field = '', text] = Object.entries(value)[0] ?? [];
    return segment(field, text);
  });
  return fixed.map((text, index) => text + (filled[index] ?? '')).join('');
}

/** Encodes a path for an address and keeps its slashes. */
export function encodePath(path: string): string {
  checkText('path', path);
  return path
    .split('/')
    .map((part) => segment('path', part))
    .join('/');
}

export function checkQuery(query: object): void {
  for (const [name, value] of Object.entries(query)) {
    if (name === 'limit') checkInteger(name, value, 1);
    if (typeof value === 'number' && !Number.isFinite(value)) throw invalid(name, 'must be a number');
  }
}

export function checkBaseUrl(baseUrl: unknown): void {
  checkText('baseUrl', baseUrl);
  if (!/^https?:\/\/[^/\s]+/.test(baseUrl)) {
    throw invalid('baseUrl', `must be an address like http://127.0.0.1:18790, not ${named(baseUrl)}`);
  }
}

function named(value: unknown): string {
  if (typeof value === 'string') return `"${value.length > 40 ? `${value.slice(0, 40)}…` : value}"`;
  if (value === null || value === undefined) return 'nothing';
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : String(value);
}
