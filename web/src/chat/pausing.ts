// When a model that is paused is asked again. Pure.

import type { Answer } from '../store/messages';

/** Seconds until a retry may succeed; `undefined` if the server named no time. */
export function secondsLeft({ error, endedAt }: Pick<Answer, 'error' | 'endedAt'>, now: number): number | undefined {
  const wait = error?.retryAfterSeconds;
  if (error?.code !== 'provider_paused' || wait === undefined || endedAt === undefined) return undefined;
  const left = Math.ceil((Date.parse(endedAt) + wait * 1000 - now) / 1000);
  // Clocks differ, so the wait is never longer than the server said.
  return Math.max(0, Math.min(wait, left));
}

/** After this many automatic retries in a row the person must retry. */
export const MOST_TRIES = 5;
