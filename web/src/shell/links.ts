import { useMemo } from 'react';
import type { Session } from '@onyx/sdk';
import { textOf } from '../store/messages';
import { useStore, type State } from '../store/state';

/** The pinned and the recent chats, newest first, with one chat for each family of forks. */
export function useRecent(most: number): { pinned: Session[]; recent: Session[] } {
  const sessions = useStore((state) => state.sessions);
  return useMemo(() => {
    const newest = new Map<string, Session>();
    for (const session of Object.values(sessions)) {
      // A job's session is listed here until it is read; afterwards it is found on the jobs page.
      const isChat = session.origin === 'chat' || (session.origin === 'job' && session.unread);
      if (session.status !== 'active' || !isChat) continue;
      const known = newest.get(session.root);
      if (!known || known.updatedAt < session.updatedAt) newest.set(session.root, session);
    }
    const all = [...newest.values()].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    return {
      pinned: all.filter((session) => session.pinned),
      recent: all.filter((session) => !session.pinned).slice(0, most),
    };
  }, [sessions, most]);
}

/** The hash of an address that opens the editor's output. */
export const OUTPUT = 'output';

export function titleOf(session: Session): string {
  return session.title || session.preview || 'New chat';
}

export const turnsOf = ({ messageCount }: Session) => `${messageCount} ${messageCount === 1 ? 'turn' : 'turns'}`;

const LONGEST_TITLE = 60;

/** The title of a chat; its first words until the server has named it. */
export function titleIn({ sessions, conversations, pending }: State, id: string): string {
  const session = sessions[id];
  if (session?.title || session?.preview) return titleOf(session);
  const asked = conversations[id]?.turns.find((turn) => turn.type === 'user');
  const said = asked?.type === 'user' ? asked.content : pending.find((item) => item.sessionId === id)?.content;
  const words = said === undefined ? '' : textOf(said).trim().replace(/\s+/g, ' ');
  if (words === '') return 'New chat';
  return words.length > LONGEST_TITLE ? `${words.slice(0, LONGEST_TITLE).trimEnd()}…` : words;
}
