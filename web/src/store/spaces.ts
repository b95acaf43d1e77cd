// The person's spaces: one list for the nav, the palette and the pages.

import { useEffect } from 'react';
import type { Fault, Space } from '@onyx/sdk';
import { create } from 'zustand';
import { faultOf, onyx, watch } from './client';
import { useStore } from './state';

export interface SpacesState {
  /** Absent until loaded. */
  list?: Space[];
  fault?: Fault;
}

export const useSpaces = create<SpacesState>(() => ({}));

export async function refreshSpaces(): Promise<void> {
  try {
    const list = await onyx.spaces.list();
    useSpaces.setState({ list: list.sort((a, b) => a.name.localeCompare(b.name)), fault: undefined });
  } catch (error) {
    const fault = faultOf(error);
    if (fault.code !== 'offline') useSpaces.setState({ fault });
  }
}

const SOON_MS = 500;
let soon: ReturnType<typeof setTimeout> | undefined;

// A space was changed elsewhere. File notices arrive in groups, so one refresh covers several.
watch('memory', () => {
  clearTimeout(soon);
  soon = setTimeout(() => void refreshSpaces(), SOON_MS);
});

/** The list, loaded again each time the connection is back. */
export function useSpaceList(): SpacesState {
  const online = useStore((state) => state.link === 'online');
  useEffect(() => {
    if (online) void refreshSpaces();
  }, [online]);
  return useSpaces();
}

/** The space whose companion a session is. */
export function spaceOf(list: Space[] | undefined, sessionId: string): Space | undefined {
  return list?.find((space) => space.companion === sessionId);
}
