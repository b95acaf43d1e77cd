import { useMemo } from 'react';
import type { Session } from '@onyx/sdk';
import { useStore } from '../store/state';

/** Chats a person would look for, newest first, one for each family of forks. */
export function useRecent(most: number): Session[] {
  const sessions = useStore((state) => state.sessions);
  return useMemo(() => {
    const newest = new Map<string, Session>();
    for (const session of Object.values(sessions)) {
      if (session.status !== 'active' || session.origin !== 'chat') continue;
      const known = newest.get(session.root);
      if (!known || known.updatedAt < session.updatedAt) newest.set(session.root, session);
    }
    return [...newest.values()].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1)).slice(0, most);
  }, [sessions, most]);
}

/** The hash of an address that asks for the editor's output to be shown. */
export const OUTPUT = 'output';

export function titleOf(session: Session): string {
  return session.title ?? (session.preview || 'Untitled chat');
}
