// Signing in to a provider on its maker's own page, and what runs on this machine unasked.

import { useEffect, useState } from 'react';
import type { FoundProvider, ProviderLogin } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { useLoaded, type Loaded } from '../../ui/useLoaded';
import { useLookedAt } from '../../ui/useLookedAt';

export type Login = ProviderLogin;

/** With a code on any machine, or in a browser that comes back to the one that Onyx runs on. */
export type LoginWay = 'code' | 'browser';

/** Servers of models on this machine that no provider is made of yet. */
export const useFound = (wanted: boolean): Loaded<FoundProvider[]> =>
  useLoaded(wanted ? 'found providers' : undefined, () => onyx.admin.foundProviders());

/** How it stands, kept in step while it waits for the person and the person may see it. `known`: as a list had it. */
export function useLogin(
  name: string,
  known?: Login,
): Loaded<Login> & {
  begin: (way?: LoginWay) => Promise<void>;
  finish: (address: string) => Promise<void>;
  end: () => Promise<void>;
} {
  const login = useLoaded(`login ${name} ${known?.state}`, () => onyx.admin.providerLogin(name));
  const { reload } = login;
  const data = login.data ?? known;
  useLookedAt(data?.state === 'waiting', reload);
  const act = async (failed: string, call: () => Promise<unknown>) => {
    await attempt(failed, call);
    reload();
  };
  const begin = (way?: LoginWay) => act('Signing in did not begin', () => onyx.admin.beginProviderLogin(name, way));
  const finish = (address: string) =>
    act('The address was not taken', () => onyx.admin.finishProviderLogin(name, address));
  const end = () => act('Not signed out', () => onyx.admin.endProviderLogin(name));
  return { ...login, data, begin, finish, end };
}

/** Counts down. */
export function useSecondsUntil(time: string | null | undefined): number | undefined {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!time) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [time]);
  return time ? Math.max(0, Math.round((new Date(time).getTime() - now) / 1_000)) : undefined;
}
