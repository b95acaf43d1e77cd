import { useEffect, useState } from 'react';
import type { Fault, Session, SessionFilter, SessionStatus } from '@onyx/sdk';
import { faultOf, onyx } from '../../store/client';
import { useStore } from '../../store/state';
import { attempt } from '../../ui/act';

const PAGE = 50;
/** The list is loaded once typing has paused for this long. */
const TYPING_MS = 120;
const DAY_MS = 86_400_000;

/** The choices of a time, each with its days. */
export const SINCE: Record<string, number | undefined> = {
  'Any time': undefined,
  'Last day': 1,
  'Last week': 7,
  'Last month': 30,
};

/** What the person searches for. Empty texts filter nothing. */
export interface Filters {
  query: string;
  agent: string;
  status: SessionStatus;
  /** A name in `SINCE`. */
  since: string;
  tag: string;
}

function asSent({ query, agent, status, since, tag }: Filters): SessionFilter {
  const days = SINCE[since];
  const first = days === undefined ? undefined : new Date(Date.now() - days * DAY_MS).toISOString();
  return { q: query.trim(), agent, status, tag, since: first, limit: PAGE };
}

/** The chats that fit, as far as they are loaded. `more` loads older ones; it is absent when there are none. */
export function useSessionList(filters: Filters) {
  const { query, agent, status, since, tag } = filters;
  const online = useStore((state) => state.link === 'online');
  const known = useStore((state) => state.sessions);
  const gone = useStore((state) => state.removed);
  const [list, setList] = useState<Session[]>();
  const [before, setBefore] = useState<string | null>();
  const [fault, setFault] = useState<Fault>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!online) return;
    let current = true;
    const timer = setTimeout(() => {
      onyx.sessions.list(asSent(filters)).then(
        (page) => current && (setList(page.sessions), setBefore(page.before), setFault(undefined)),
        (error: unknown) => current && setFault(faultOf(error)),
      );
    }, TYPING_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [query, agent, status, since, tag, online, round]);
  const more = async (oldest: string) => {
    const page = await attempt('Older chats could not be loaded', () =>
      onyx.sessions.list({ ...asSent(filters), before: oldest }),
    );
    if (!page) return;
    setList([...(list ?? []), ...page.sessions]);
    setBefore(page.before);
  };
  const sessions = list
    ?.filter(({ id }) => !gone.has(id))
    .map((session) => ({ ...session, ...known[session.id], found: session.found }))
    .filter((session) => session.status === status)
    // Its tags may have been changed here since the list was loaded.
    .filter((session) => tag === '' || session.tags?.includes(tag));
  return {
    sessions,
    fault,
    retry: () => setRound(round + 1),
    more: before ? () => void more(before) : undefined,
  };
}
