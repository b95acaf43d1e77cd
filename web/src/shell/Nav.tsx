import { Link, useLocation } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Search } from 'lucide-react';
import { NavChannels } from '../pages/channels/NavChannels';
import { ALL_PAGES, PAGES, type Page } from '../pages/pages';
import { useJobs } from '../store/jobs';
import { useSpaceList } from '../store/spaces';
import { useStore } from '../store/state';
import { hueOf } from '../ui/hue';
import { ChatItem } from './ChatItem';
import { useRecent } from './links';
import { NavSection } from './NavSection';
import { useWaiting } from './useWaiting';

const RECENT = 8;
/** How many chats are listed on a low screen. */
const RECENT_LOW = 4;
const MOST_SPACES = 6;
const MOST_AGENTS = 6;

/**
 * The navigation. At 1280 pixels and more it is a full list, from 768 to 1279 icons only; on narrower screens the
 * bottom bar takes its place.
 */
export function Nav({ onPalette }: { onPalette: () => void }) {
  const { pinned, recent } = useRecent(RECENT);
  const phase = useStore((state) => state.sessionsPhase);
  const agents = useStore((state) => state.status?.agents);
  const { list: spaces } = useSpaceList();
  const waiting = useWaiting();
  const owner = useStore((state) => state.me?.role !== 'member');
  const troubles = useJobs((state) => state.jobs.filter((job) => job.troubles > 0).length);
  const listed = ALL_PAGES.filter(({ listedFor }) => listedFor === 'everybody' || (listedFor === 'owner' && owner));
  return (
    <nav
      aria-label="Main"
      className="hidden w-14 shrink-0 flex-col gap-0.5 border-r border-line bg-sunken p-3 md:flex xl:w-60"
    >
      <Link
        to="/chat"
        className="mb-2 flex items-center gap-2.5 px-2 py-1 font-semibold max-xl:justify-center"
        aria-label="Onyx"
      >
        <i className="block size-3.5 shrink-0 rotate-45 rounded-[4px] bg-text" aria-hidden />
        <span className="max-xl:hidden">Onyx</span>
      </Link>
      <button
        type="button"
        onClick={onPalette}
        className="mb-2 flex h-8 items-center justify-between rounded-sm border border-line bg-surface px-2.5 text-meta text-dim max-xl:justify-center max-xl:px-0"
      >
        <span className="max-xl:sr-only">Search or command</span>
        <Search size={15} className="xl:hidden" aria-hidden />
        <kbd className="kbd max-xl:hidden" aria-hidden>
          ⌘K
        </kbd>
      </button>
      <Item page={PAGES.newChat} exact />
      <Item page={PAGES.inbox} badge={waiting} />
      <div className="-mx-1 flex min-h-0 flex-1 flex-col gap-0.5 overflow-y-auto px-1 pb-2">
        {pinned.length > 0 && (
          <NavSection label="Pinned">
            <div className="flex flex-col gap-0.5 max-xl:hidden">
              {pinned.map((session) => (
                <ChatItem key={session.id} session={session} />
              ))}
            </div>
          </NavSection>
        )}
        <NavSection label="Chats" all={{ to: PAGES.sessions.path, label: 'All chats' }}>
          <div className="flex flex-col gap-0.5 max-xl:hidden">
            {recent.map((session, index) => (
              // A low screen lists fewer chats, so that the rest of the navigation stays visible.
              <ChatItem
                key={session.id}
                session={session}
                className={index < RECENT_LOW ? '' : '[@media(max-height:900px)]:hidden'}
              />
            ))}
            {phase === 'loading' &&
              recent.length === 0 &&
              [70, 55, 80].map((width) => (
                <div key={width} className="skeleton mx-2 my-2 h-4" style={{ width: `${width}%` }} />
              ))}
            {phase === 'ready' && recent.length === 0 && (
              <p className="px-2 py-1 text-meta text-dim">Your chats appear here.</p>
            )}
          </div>
          <Item page={PAGES.sessions} label="All chats" narrowOnly />
        </NavSection>
        <NavSection label="Spaces" all={{ to: PAGES.spaces.path, label: 'All spaces' }}>
          <div className="flex flex-col gap-0.5 max-xl:hidden">
            {spaces?.slice(0, MOST_SPACES).map((space) => (
              <Link
                key={space.id}
                to="/spaces/$space"
                params={{ space: space.id }}
                className="nav-item"
                activeOptions={{ exact: false }}
                activeProps={{ 'aria-current': 'page' }}
                title={space.name}
              >
                <span className="truncate">{space.name}</span>
              </Link>
            ))}
          </div>
          <Item page={PAGES.spaces} label="All spaces" exact narrowOnly />
        </NavSection>
        <NavSection label="Channels" all={{ to: PAGES.channels.path, label: 'All channels' }}>
          <NavChannels />
          <Item page={PAGES.channels} label="All channels" exact narrowOnly />
        </NavSection>
        <NavSection label="Agents" all={{ to: PAGES.agents.path, label: 'All agents' }}>
          <div className="flex flex-col gap-0.5 max-xl:hidden">
            {agents?.slice(0, MOST_AGENTS).map((agent) => (
              <Link
                key={agent.id}
                to="/agents/$id/$tab"
                params={{ id: agent.id, tab: 'overview' }}
                className="nav-item"
                activeOptions={{ exact: false }}
                activeProps={{ 'aria-current': 'page' }}
              >
                <span className="hue" style={{ background: hueOf(agent.id) }} aria-hidden />
                <span className="truncate">{agent.name}</span>
              </Link>
            ))}
          </div>
          <Item page={PAGES.agents} label="All agents" exact narrowOnly />
        </NavSection>
      </div>
      <div className="flex shrink-0 flex-col gap-0.5 border-t border-line pt-2">
        {listed.map((page) =>
          page === PAGES.system ? (
            <Health key={page.path} />
          ) : (
            <Item key={page.path} page={page} badge={page === PAGES.jobs ? troubles : 0} />
          ),
        )}
      </div>
    </nav>
  );
}

function Item({
  page,
  label = page.title,
  badge = 0,
  exact = false,
  narrowOnly = false,
}: {
  page: Page;
  label?: string;
  badge?: number;
  exact?: boolean;
  /** Shown only in the icon bar; the wide list has another link. */
  narrowOnly?: boolean;
}) {
  const Icon = page.icon;
  return (
    <Link
      to={page.path}
      className={`nav-item max-xl:justify-center max-xl:px-0 ${narrowOnly ? 'xl:hidden' : ''}`}
      activeOptions={{ exact }}
      activeProps={{ 'aria-current': 'page' }}
      title={label}
    >
      <span className="shrink-0 text-dim">
        <Icon size={16} aria-hidden />
      </span>
      <span className="truncate max-xl:sr-only">{label}</span>
      {badge > 0 && (
        <span className="ml-auto rounded-full bg-warn-soft px-1.5 text-tiny text-warn max-xl:sr-only">
          {badge}
          <span className="sr-only"> waiting</span>
        </span>
      )}
    </Link>
  );
}

function Health() {
  const link = useStore((state) => state.link);
  const worst = useStore((state) => {
    if (state.statusFault) return 'unknown';
    if (!state.status) return 'checking';
    const states = state.status.dependencies.map((dependency) => dependency.state);
    return states.includes('down') ? 'down' : states.includes('degraded') ? 'degraded' : 'ok';
  });
  const [text, color] =
    link === 'offline'
      ? ['Not connected', 'var(--danger)']
      : link !== 'online'
        ? ['Connecting', 'var(--line)']
        : worst === 'unknown'
          ? ['Status unknown', 'var(--warn)']
          : worst === 'checking'
            ? ['Checking', 'var(--line)']
            : worst === 'down'
              ? ['Something is down', 'var(--danger)']
              : worst === 'degraded'
                ? ['Needs attention', 'var(--warn)']
                : ['All systems OK', 'var(--ok)'];
  return (
    <Link
      to={PAGES.system.path}
      className="nav-item max-xl:justify-center max-xl:px-0"
      activeProps={{ 'aria-current': 'page' }}
      aria-label={`System: ${text}`}
      title={text}
    >
      <span className="dot" style={{ background: color }} aria-hidden />
      <span className="truncate max-xl:hidden">{text}</span>
    </Link>
  );
}

/** The links of a phone's bar, and the further pages on which each is marked as the current one. */
const BAR: { page: Page; also: readonly Page[] }[] = [
  { page: PAGES.sessions, also: [PAGES.newChat] },
  { page: PAGES.inbox, also: [] },
  { page: PAGES.spaces, also: [] },
  { page: PAGES.more, also: ALL_PAGES.filter((page) => page.detail) },
];

export function BottomBar() {
  const pathname = useLocation({ select: (location) => location.pathname });
  const waiting = useWaiting();
  const link = useStore((state) => state.link);
  return (
    <nav
      aria-label="Main"
      className="flex shrink-0 justify-around border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {BAR.map(({ page, also }) => (
        <BarLink key={page.path} page={page} current={[page, ...also].some(({ path }) => pathname.startsWith(path))}>
          {page === PAGES.inbox && waiting > 0 && (
            <span className="absolute top-1.5 right-2 rounded-full bg-warn-soft px-1.5 text-tiny text-warn">
              {waiting}
              <span className="sr-only"> waiting</span>
            </span>
          )}
          {page === PAGES.more && link === 'offline' && (
            <span
              className="absolute top-2 right-4 size-2 rounded-full bg-danger"
              role="img"
              aria-label="not connected"
            />
          )}
        </BarLink>
      ))}
    </nav>
  );
}

function BarLink({ page, current, children }: { page: Page; current: boolean; children: ReactNode }) {
  const Icon = page.icon;
  return (
    <Link
      to={page.path}
      className="relative flex h-14 min-w-16 flex-col items-center justify-center gap-0.5 text-tiny text-dim aria-[current=page]:text-accent"
      aria-current={current ? 'page' : undefined}
    >
      <Icon size={18} aria-hidden />
      {page.title}
      {children}
    </Link>
  );
}
