// The person's tags: one list for the filter, the dialog and the rows.

import { useEffect } from 'react';
import type { Tag } from '@onyx/sdk';
import { create } from 'zustand';
import { onyx } from './client';
import { useStore } from './state';

const useTags = create<{ list: Tag[] }>(() => ({ list: [] }));

export async function refreshTags(): Promise<void> {
  try {
    useTags.setState({ list: await onyx.sessions.tags() });
  } catch {
    // Without a connection the known tags are shown; they are loaded again when it is back.
  }
}

/** The list, loaded again each time the connection is back. */
export function useTagList(): Tag[] {
  const online = useStore((state) => state.link === 'online');
  useEffect(() => {
    if (online) void refreshTags();
  }, [online]);
  return useTags((state) => state.list);
}
