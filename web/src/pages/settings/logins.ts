// Signing in to a provider on its maker's own page, and what runs on this machine unasked.

import { useCallback, useEffect, useState } from 'react';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { useLoaded, type Loaded } from '../../ui/useLoaded';

export interface Login {
  state: 'none' | 'waiting' | 'signed_in' | 'failed' | 'sign_in_again';
  account?: string | null;
  userCode?: string | null;
  verificationUri?: string | null;
  verificationUriComplete?: string | null;
  expiresAt?: string | null;
  error?: string | null;
}

export interface FoundProvider {
  name: string;
  baseUrl: string;
  models: string[];
  latencyMs: number;
}

const EVERY_MS = 2_000;

const at = (name: string) => `/api/admin/providers/${encodeURIComponent(name)}/login`;

export const beginLogin = (name: string): Promise<Login> => onyx.http.json(at(name), { body: {} });

/** Servers of models on this machine that no provider is made of yet. */
export function useFound(wanted: boolean): Loaded<FoundProvider[]> {
  return useLoaded(wanted ? 'found providers' : undefined, async () => (await onyx.http.json<{ found: FoundProvider[] }>('/api/admin/providers/found')).found);
}

/** What it is, kept in step while it waits for the person and the person may see it. */
export function useLogin(name: string): Loaded<Login> & { begin: () => Promise<void>; end: () => Promise<void> } {
  const login = useLoaded(`login ${name}`, () => onyx.http.json<Login>(at(name)));
  const { data, reload } = login;
  const isWaiting = data?.state === 'waiting';
  useEffect(() => {
    if (!isWaiting) return;
    const look = () => document.hidden || reload();
    const timer = setInterval(look, EVERY_MS);
    // Who comes back from the maker's page sees at once what came of it.
    document.addEventListener('visibilitychange', look);
    return () => (clearInterval(timer), document.removeEventListener('visibilitychange', look));
  }, [isWaiting, reload]);
  const act = useCallback(
    async (failed: string, call: () => Promise<unknown>) => {
      await attempt(failed, call);
      reload();
    },
    [reload],
  );
  const begin = () => act('Signing in did not begin', () => beginLogin(name));
  const end = () => act('Not signed out', () => onyx.http.response(at(name), { method: 'DELETE' }));
  return { ...login, begin, end };
}

/** Counts down while somebody may look at it. */
export function useSecondsUntil(time: string | null | undefined): number | undefined {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!time) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [time]);
  return time ? Math.max(0, Math.round((new Date(time).getTime() - now) / 1_000)) : undefined;
}
