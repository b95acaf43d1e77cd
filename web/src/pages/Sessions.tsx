import { useEffect, useState } from 'react';
import { Link } from '@tanstack/react-router';
import { Archive, ArchiveRestore } from 'lucide-react';
import type { Fault, Session, SessionStatus } from '@onyx/sdk';
import { setArchived } from '../store/actions';
import { faultOf, onyx } from '../store/client';
import { spaceOf, useSpaces } from '../store/spaces';
import { useStore } from '../store/state';
import { Header } from '../shell/Header';
import { titleOf, turnsOf } from '../shell/links';
import { Select } from '../ui/form';
import { attempt } from '../ui/act';
import { hueOf } from '../ui/hue';
import { Empty, ErrorLine, Skeletons } from '../ui/page';
import { ago, fullTime, tokens } from '../ui/time';

const SINCE: Record<string, number | undefined> = {
  'Any time': undefined,
  'Last day': 1,
  'Last week': 7,
  'Last month': 30,
};

/** Every chat: filter, open, archive. */
export function SessionsPage() {
  const agents = useStore((state) => state.status?.agents);
  const online = useStore((state) => state.link === 'online');
  const [query, setQuery] = useState('');
  const [agent, setAgent] = useState('');
  const [status, setStatus] = useState<SessionStatus>('active');
  const [since, setSince] = useState('Any time');
  const [list, setList] = useState<Session[]>();
  const [before, setBefore] = useState<string>();
  const [fault, setFault] = useState<Fault>();
  const [round, setRound] = useState(0);
  const known = useStore((state) => state.sessions);

  const filter = () => {
    const days = SINCE[since];
    return { q: query.trim(), agent, status, since: days && new Date(Date.now() - days * 86_400_000).toISOString() };
  };
  useEffect(() => {
    if (!online) return;
    const timer = setTimeout(() => {
      onyx.sessions.list({ ...filter(), limit: 50 } as object).then(
        (page) => (setList(page.sessions), setBefore(page.before), setFault(undefined)),
        (error: unknown) => setFault(faultOf(error)),
      );
    }, 120);
    return () => clearTimeout(timer);
  }, [query, agent, status, since, online, round]);
  const more = async () => {
    const page = await attempt('No older chats', () =>
      onyx.sessions.list({ ...filter(), before, limit: 50 } as object),
    );
    if (!page) return;
    setList([...(list ?? []), ...page.sessions]);
    setBefore(page.before);
  };
  const shown = list?.map((session) => known[session.id] ?? session).filter((session) => session.status === status);
  return (
    <>
      <Header title="Chats" />
      <div className="flex-1 overflow-y-auto px-4 py-4 md:px-6 md:py-6">
        <div className="mx-auto max-w-[880px]">
          <div className="mb-4 flex flex-wrap gap-2">
            <input
              className="field min-w-48 flex-1 max-sm:basis-full"
              type="search"
              placeholder="Search chats"
              aria-label="Search chats"
              value={query}
              onChange={(event) => setQuery(event.target.value)}
            />
            <Select
              label="Agent"
              value={agent}
              onChange={setAgent}
              options={[['', 'All agents'], ...(agents ?? []).map((one) => [one.id, one.name] as [string, string])]}
            />
            <Select
              label="Time"
              value={since}
              onChange={setSince}
              options={Object.keys(SINCE).map((name) => [name, name])}
            />
            <Select
              label="Status"
              value={status}
              onChange={(value) => setStatus(value as SessionStatus)}
              options={[
                ['active', 'Active'],
                ['archived', 'Archived'],
              ]}
            />
          </div>
          {fault && <ErrorLine fault={fault} action={{ label: 'Try again', run: () => setRound(round + 1) }} />}
          {shown === undefined &&
            !fault &&
            (online ? <Skeletons height="h-16" /> : <Empty>Your chats appear when the connection is back.</Empty>)}
          {shown?.length === 0 && (
            <p className="meta py-10 text-center">
              {query || agent || since !== 'Any time'
                ? 'No chats match these filters.'
                : status === 'archived'
                  ? 'No archived chats.'
                  : 'No chats yet.'}{' '}
              <Link to="/chat" className="text-accent underline underline-offset-3">
                New chat
              </Link>
            </p>
          )}
          {shown && shown.length > 0 && (
            <ul className="card divide-y divide-line overflow-hidden">
              {shown.map((session) => (
                <Row key={session.id} session={session} />
              ))}
            </ul>
          )}
          {before && (
            <button type="button" className="btn mx-auto mt-4 flex" onClick={() => void more()}>
              Show more
            </button>
          )}
        </div>
      </div>
    </>
  );
}

/** Where a conversation lives that is not a chat of its own; it opens there. */
function useHome(session: Session): string | undefined {
  const { id, agent, origin } = session;
  const space = useSpaces(({ list }) => spaceOf(list, id)?.name);
  const persona = useStore((state) => state.status?.agents.find((one) => one.id === agent)?.name ?? agent);
  // Mostly it is called as its space is.
  if (origin === 'companion')
    return space === undefined || space === titleOf(session) ? 'companion' : `companion of ${space}`;
  if (origin === 'agent_editor') return `editor of ${persona}`;
  return origin === 'thread' ? 'thread' : undefined;
}

function Row({ session }: { session: Session }) {
  const archived = session.status === 'archived';
  const home = useHome(session);
  // Cleared is cleared: its persona has begun another one.
  const isPutAway = archived && session.origin === 'agent_editor';
  const unread = useStore((state) => state.sessions[session.id]?.unread === true);
  const mark = session.runId ? 'at work' : unread ? 'unread' : undefined;
  return (
    <li className="flex items-center gap-1 pr-2 hover:bg-sunken">
      <Link to="/chat/$id" params={{ id: session.id }} className="flex min-w-0 flex-1 items-center gap-3 px-4 py-2.5">
        <span
          className={`dot ${session.runId ? 'dot-run' : ''}`}
          style={session.runId ? undefined : { background: hueOf(session.agent) }}
          aria-hidden
        />
        <span className="min-w-0 flex-1">
          <span className="flex items-baseline gap-2">
            <span className={`truncate ${unread ? 'font-semibold' : ''}`} dir="auto">
              {titleOf(session)}
            </span>
            {home && <span className="max-w-1/2 shrink-0 truncate text-tiny text-dim">{home}</span>}
            {mark && (
              <span className={`shrink-0 text-tiny ${session.runId ? 'text-accent' : 'text-ok-text'}`}>{mark}</span>
            )}
            <span className="ml-auto shrink-0 text-tiny text-dim sm:hidden">{ago(session.updatedAt)}</span>
          </span>
          <span className="block truncate text-meta text-dim">{session.preview}</span>
        </span>
        <span className="hidden shrink-0 text-right text-meta text-dim sm:block">
          <span className="block" title={fullTime(session.updatedAt)}>
            {ago(session.updatedAt)}
          </span>
          <span className="block">
            {turnsOf(session)}
            {session.tokenCount > 0 && ` · ${tokens(session.tokenCount)}`}
          </span>
        </span>
      </Link>
      {!isPutAway && (
        <button
          type="button"
          className="icon-btn"
          aria-label={archived ? `Unarchive ${titleOf(session)}` : `Archive ${titleOf(session)}`}
          onClick={() => void setArchived(session.id, !archived)}
        >
          {archived ? <ArchiveRestore size={16} aria-hidden /> : <Archive size={16} aria-hidden />}
        </button>
      )}
    </li>
  );
}
