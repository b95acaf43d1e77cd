import { useEffect, useMemo, useState } from 'react';
import { Link } from '@tanstack/react-router';
import { Archive, ArchiveRestore, MoreHorizontal, Pin, Plus, Tag as TagIcon, Trash2 } from 'lucide-react';
import type { Fault, Session, SessionStatus } from '@onyx/sdk';
import { SessionMenu } from '../chat/SessionMenu';
import { Tags } from '../chat/Tags';
import { remove, setArchived, setTags } from '../store/actions';
import { faultOf, onyx } from '../store/client';
import { spaceOf, useSpaces } from '../store/spaces';
import { toast, useStore } from '../store/state';
import { useTagList } from '../store/tags';
import { Header } from '../shell/Header';
import { titleOf, turnsOf } from '../shell/links';
import { Select } from '../ui/form';
import { attempt } from '../ui/act';
import { hueOf } from '../ui/hue';
import { Confirm } from '../ui/Modal';
import { Empty, ErrorLine, Skeletons } from '../ui/page';
import { Snippet } from '../ui/Snippet';
import { ago, counted, fullTime, tokens } from '../ui/time';
import { byAge } from './sessions-groups';

const SINCE: Record<string, number | undefined> = {
  'Any time': undefined,
  'Last day': 1,
  'Last week': 7,
  'Last month': 30,
};

/** The list of all chats, with search, filters, and actions on one or several of them. */
export function SessionsPage() {
  const agents = useStore((state) => state.status?.agents);
  const online = useStore((state) => state.link === 'online');
  const [query, setQuery] = useState('');
  const [agent, setAgent] = useState('');
  const [status, setStatus] = useState<SessionStatus>('active');
  const [since, setSince] = useState('Any time');
  const [tag, setTag] = useState('');
  const tags = useTagList();
  const [list, setList] = useState<Session[]>();
  const [before, setBefore] = useState<string>();
  const [fault, setFault] = useState<Fault>();
  const [round, setRound] = useState(0);
  // Absent while the selection mode is off.
  const [chosen, setChosen] = useState<ReadonlySet<string>>();
  const known = useStore((state) => state.sessions);
  const gone = useStore((state) => state.removed);

  const filter = () => {
    const days = SINCE[since];
    return {
      q: query.trim(),
      agent,
      status,
      tag,
      since: days && new Date(Date.now() - days * 86_400_000).toISOString(),
    };
  };
  useEffect(() => {
    if (!online) return;
    let current = true;
    const timer = setTimeout(() => {
      onyx.sessions.list({ ...filter(), limit: 50 } as object).then(
        (page) => current && (setList(page.sessions), setBefore(page.before), setFault(undefined)),
        (error: unknown) => current && setFault(faultOf(error)),
      );
    }, 120);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [query, agent, status, since, tag, online, round]);
  const more = async () => {
    const page = await attempt('Older chats could not be loaded', () =>
      onyx.sessions.list({ ...filter(), before, limit: 50 } as object),
    );
    if (!page) return;
    setList([...(list ?? []), ...page.sessions]);
    setBefore(page.before);
  };
  const shown = list
    ?.filter(({ id }) => !gone.has(id))
    .map((session) => ({ ...session, ...known[session.id], found: session.found }))
    .filter((session) => session.status === status)
    // Its tags may have been changed here since the list was loaded.
    .filter((session) => tag === '' || session.tags?.includes(tag));
  const groups = useMemo(() => byAge(shown ?? []), [shown]);
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  return (
    <>
      <Header title="Chats">
        {shown && shown.length > 0 && (
          <button
            type="button"
            className="btn"
            aria-pressed={chosen !== undefined}
            onClick={() => setChosen(chosen ? undefined : new Set())}
          >
            {chosen ? 'Done' : 'Select'}
          </button>
        )}
        <Link to="/chat" className="btn btn-primary">
          <Plus size={15} aria-hidden /> New chat
        </Link>
      </Header>
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
            {tags.length > 0 && (
              <Select
                label="Tag"
                value={tag}
                onChange={setTag}
                options={[['', 'All tags'], ...tags.map((one) => [one.tag, one.tag] as [string, string])]}
              />
            )}
          </div>
          {chosen && <Several ids={[...chosen]} status={status} onDone={() => setChosen(undefined)} />}
          {fault && <ErrorLine fault={fault} action={{ label: 'Retry', run: () => setRound(round + 1) }} />}
          {shown === undefined &&
            !fault &&
            (online ? <Skeletons height="h-16" /> : <Empty>Your chats appear when the connection is back.</Empty>)}
          {shown?.length === 0 && (
            <p className="meta py-10 text-center">
              {query || agent || tag || since !== 'Any time'
                ? 'No chats match these filters.'
                : status === 'archived'
                  ? 'No archived chats.'
                  : 'No chats yet.'}{' '}
              <Link to="/chat" className="text-accent underline underline-offset-3">
                New chat
              </Link>
            </p>
          )}
          {groups.map(([name, sessions]) => (
            <section key={name} aria-label={name} className="mb-4">
              <h2 className="mb-1.5 px-1 text-tiny text-dim">{name}</h2>
              <ul className="card divide-y divide-line overflow-hidden">
                {sessions.map((session) => (
                  <Row
                    key={session.id}
                    session={session}
                    chosen={chosen?.has(session.id)}
                    onChoose={() => toggle(session.id)}
                  />
                ))}
              </ul>
            </section>
          ))}
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

/** The actions on all selected chats. */
function Several({ ids, status, onDone }: { ids: string[]; status: SessionStatus; onDone: () => void }) {
  const [asking, setAsking] = useState(false);
  const [tagging, setTagging] = useState(false);
  const known = useStore((state) => state.sessions);
  const archived = status === 'archived';
  const none = ids.length === 0;
  const archive = async () => {
    for (const id of ids) await setArchived(id, !archived, 'quiet');
    toast(`${counted(ids.length, 'chat')} ${archived ? 'unarchived' : 'archived'}`);
    onDone();
  };
  const tagAll = async (tags?: string[]) => {
    setTagging(false);
    if (!tags || tags.length === 0) return;
    let tagged = 0;
    for (const id of ids) {
      const had = (known[id] ?? (await onyx.sessions.get(id).catch(() => undefined)))?.tags ?? [];
      if (await setTags(id, [...new Set([...had, ...tags])])) tagged += 1;
    }
    toast(`${counted(tagged, 'chat')} tagged`);
    onDone();
  };
  const removeAll = async (yes: boolean) => {
    setAsking(false);
    if (!yes) return;
    let removed = 0;
    for (const id of ids) if (await remove(id)) removed += 1;
    toast(`${counted(removed, 'chat')} deleted`);
    onDone();
  };
  return (
    <div
      role="toolbar"
      aria-label="Selected chats"
      className="card sticky top-0 z-10 mb-4 flex flex-wrap items-center gap-2 px-4 py-2"
    >
      <span className="min-w-0 flex-1" role="status">
        {none ? 'Select chats below' : `${counted(ids.length, 'chat')} selected`}
      </span>
      <button type="button" className="btn" disabled={none} onClick={() => void archive()}>
        {archived ? <ArchiveRestore size={15} aria-hidden /> : <Archive size={15} aria-hidden />}
        {archived ? 'Unarchive' : 'Archive'}
      </button>
      <button type="button" className="btn" disabled={none} onClick={() => setTagging(true)}>
        <TagIcon size={15} aria-hidden /> Tag
      </button>
      {tagging && <Tags label="Add tags" action="Add tags" given={[]} onAnswer={(tags) => void tagAll(tags)} />}
      <button type="button" className="btn btn-danger" disabled={none} onClick={() => setAsking(true)}>
        <Trash2 size={15} aria-hidden /> Delete
      </button>
      {asking && (
        <Confirm
          question={`Delete ${counted(ids.length, 'chat')}?`}
          detail="This deletes them permanently. Archive them instead to keep them."
          action="Delete"
          onAnswer={(yes) => void removeAll(yes)}
        />
      )}
    </div>
  );
}

/** The place of a conversation that is not a chat; it opens there. */
function useHome(session: Session): string | undefined {
  const { id, agent, origin } = session;
  const space = useSpaces(({ list }) => spaceOf(list, id)?.name);
  const persona = useStore((state) => state.status?.agents.find((one) => one.id === agent)?.name ?? agent);
  // A companion mostly has the name of its space.
  if (origin === 'companion')
    return space === undefined || space === titleOf(session) ? 'companion' : `companion of ${space}`;
  if (origin === 'agent_editor') return `editor of ${persona}`;
  return origin === 'thread' ? 'thread' : undefined;
}

function Row({ session, chosen, onChoose }: { session: Session; chosen?: boolean; onChoose: () => void }) {
  const archived = session.status === 'archived';
  const home = useHome(session);
  // A cleared editor conversation cannot be reopened: its persona has started another one.
  const isPutAway = archived && session.origin === 'agent_editor';
  const { unread, found } = session;
  const mark = session.runId ? 'working' : unread ? 'unread' : archived ? 'archived' : undefined;
  const color = session.runId ? 'text-accent' : unread ? 'text-ok-text' : 'text-dim';
  const title = titleOf(session);
  return (
    <li className="flex items-center gap-1 pr-2 hover:bg-sunken">
      {chosen !== undefined && (
        <label className="flex size-11 shrink-0 items-center justify-center">
          <input
            type="checkbox"
            className="size-4 accent-(--accent)"
            aria-label={`Select ${title}`}
            checked={chosen}
            onChange={onChoose}
          />
        </label>
      )}
      <Link
        to="/chat/$id"
        params={{ id: found?.session ?? session.id }}
        search={{ turn: found?.turn ?? undefined }}
        className="flex min-w-0 flex-1 items-center gap-3 px-4 py-2.5"
      >
        <span className="hue" style={{ background: hueOf(session.agent) }} aria-hidden />
        <span className="min-w-0 flex-1">
          <span className="flex items-baseline gap-2">
            <span className={`truncate ${unread ? 'font-semibold' : ''}`} dir="auto">
              {title}
            </span>
            {session.pinned && (
              <Pin size={12} className="shrink-0 self-center text-dim" role="img" aria-label="pinned" />
            )}
            {session.tags?.map((tag) => (
              <span key={tag} className="max-w-32 shrink-0 truncate rounded-sm bg-sunken px-1.5 text-tiny text-dim">
                {tag}
              </span>
            ))}
            {home && <span className="max-w-1/2 shrink-0 truncate text-tiny text-dim">{home}</span>}
            {mark && <span className={`shrink-0 text-tiny ${color}`}>{mark}</span>}
            <span className="ml-auto shrink-0 text-tiny text-dim sm:hidden">{ago(session.updatedAt)}</span>
          </span>
          <span className="block truncate text-meta text-dim">
            {found ? <Snippet parts={found.snippet} /> : session.preview}
          </span>
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
          className="icon-btn max-sm:hidden"
          aria-label={archived ? `Unarchive ${title}` : `Archive ${title}`}
          title={archived ? 'Unarchive' : 'Archive'}
          onClick={() => void setArchived(session.id, !archived)}
        >
          {archived ? <ArchiveRestore size={16} aria-hidden /> : <Archive size={16} aria-hidden />}
        </button>
      )}
      {!isPutAway && (
        <SessionMenu session={session} label={`More for ${title}`}>
          <MoreHorizontal size={16} aria-hidden />
        </SessionMenu>
      )}
    </li>
  );
}
