// Sign-ins at providers, and model servers found on this machine.

import { useEffect, useState } from 'react';
import type { FoundProvider, ProviderLogin } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { useLoaded, type Loaded } from '../../ui/useLoaded';
import { useLookedAt } from '../../ui/useLookedAt';

export type Login = ProviderLogin;

/** How to sign in: with a code on any machine, or with a browser that returns to the server's machine. */
export type LoginWay = 'code' | 'browser';

/** Model servers on this machine that are not added as providers yet. */
export const useFound = (wanted: boolean): Loaded<FoundProvider[]> =>
  useLoaded(wanted ? 'found providers' : undefined, () => onyx.admin.foundProviders());

/** The state of a sign-in, polled while it waits and is visible. `known`: the state from a list. */
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
  const begin = (way?: LoginWay) => act('The sign-in did not start', () => onyx.admin.beginProviderLogin(name, way));
  const finish = (address: string) =>
    act('The address was not accepted', () => onyx.admin.finishProviderLogin(name, address));
  const end = () => act('Not signed out', () => onyx.admin.endProviderLogin(name));
  return { ...login, data, begin, finish, end };
}

/** The seconds until a time, counting down. */
export function useSecondsUntil(time: string | null | undefined): number | undefined {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!time) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [time]);
  return time ? Math.max(0, Math.round((new Date(time).getTime() - now) / 1_000)) : undefined;
}
