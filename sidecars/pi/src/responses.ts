// The last HTTP answer of each question. Pi tells of a failure in words; what kind it is, the status and the headers say.

import { AsyncLocalStorage } from 'node:async_hooks';

export interface Seen {
  status: number;
  /** How long to wait, where the answer says so. */
  waitMs?: number;
}

const seen = new AsyncLocalStorage<Seen>();
const fetched = globalThis.fetch;

globalThis.fetch = async (...request: Parameters<typeof fetch>) => {
  const response = await fetched(...request);
  const facts = seen.getStore();
  if (facts) {
    facts.status = response.status;
    facts.waitMs = waitOf(response.headers);
  }
  return response;
};

/** Runs a question; `facts` holds its last answer from then on. */
export const watching = <T>(facts: Seen, work: () => T): T => seen.run(facts, work);

function waitOf(headers: Headers): number | undefined {
  // A subscription that has met its limit says when that ends, in seconds since 1970.
  const ends = Number(headers.get('anthropic-ratelimit-unified-reset') || Number.NaN);
  if (headers.get('anthropic-ratelimit-unified-status') === 'rejected' && Number.isFinite(ends))
    return Math.max(0, ends * 1000 - Date.now());
  const seconds = Number(headers.get('retry-after') || Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
