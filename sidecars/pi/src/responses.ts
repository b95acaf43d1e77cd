// The last HTTP answer of each question. Pi reports a failure as text; its kind follows from status and headers.

import { AsyncLocalStorage } from 'node:async_hooks';

export interface Seen {
  status: number;
  /** How long to wait, if the answer says so. */
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

/** Runs a request; afterwards `facts` holds its last HTTP answer. */
export const watching = <T>(facts: Seen, work: () => T): T => seen.run(facts, work);

function waitOf(headers: Headers): number | undefined {
  // A subscription at its limit says when the limit ends, in seconds since 1970.
  const ends = Number(headers.get('anthropic-ratelimit-unified-reset') || Number.NaN);
  if (headers.get('anthropic-ratelimit-unified-status') === 'rejected' && Number.isFinite(ends))
    return Math.max(0, ends * 1000 - Date.now());
  const seconds = Number(headers.get('retry-after') || Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
