import { Link } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { NavChannels } from '../../pages/channels/NavChannels';
import { ALL_PAGES, PAGES } from '../../pages/pages';
import { useJobs } from '../../store/jobs';
import { useStore } from '../../store/state';
import { useRecent } from '../links';
import { useWaiting } from '../useWaiting';
import { NavAgents } from './NavAgents';
import { PinnedChats, RecentChats } from './NavChats';
import { NavHealth } from './NavHealth';
import { NavItem } from './NavItem';
import { NavSection } from './NavSection';
import { NavSpaces } from './NavSpaces';

const RECENT = 8;

/**
 * The navigation. At 1280 pixels and more it is a full list, from 768 to 1279 icons only; on narrower screens the
 * bottom bar takes its place.
 */
export function Nav({ onPalette }: { onPalette: () => void }) {
  const { pinned, recent } = useRecent(RECENT);
  const waiting = useWaiting();
  return (
    <nav
      aria-label="Main"
      className="hidden w-14 shrink-0 flex-col gap-0.5 border-r border-line bg-sunken p-3 md:flex xl:w-60"
    >
      <Home />
      <SearchButton onClick={onPalette} />
      <NavItem page={PAGES.newChat} exact />
      <NavItem page={PAGES.inbox} badge={waiting} />
      <div className="-mx-1 flex min-h-0 flex-1 flex-col gap-0.5 overflow-y-auto px-1 pb-2">
        {pinned.length > 0 && (
          <NavSection label="Pinned">
            <PinnedChats pinned={pinned} />
          </NavSection>
        )}
        <NavSection label="Chats" all={{ to: PAGES.sessions.path, label: 'All chats' }}>
          <RecentChats recent={recent} />
          <NavItem page={PAGES.sessions} label="All chats" narrowOnly />
        </NavSection>
        <NavSection label="Spaces" all={{ to: PAGES.spaces.path, label: 'All spaces' }}>
          <NavSpaces />
          <NavItem page={PAGES.spaces} label="All spaces" exact narrowOnly />
        </NavSection>
        <NavSection label="Channels" all={{ to: PAGES.channels.path, label: 'All channels' }}>
          <NavChannels />
          <NavItem page={PAGES.channels} label="All channels" exact narrowOnly />
        </NavSection>
        <NavSection label="Agents" all={{ to: PAGES.agents.path, label: 'All agents' }}>
          <NavAgents />
          <NavItem page={PAGES.agents} label="All agents" exact narrowOnly />
        </NavSection>
      </div>
      <OtherPages />
    </nav>
  );
}

function Home() {
  return (
    <Link
      to="/chat"
      className="mb-2 flex items-center gap-2.5 px-2 py-1 font-semibold max-xl:justify-center"
      aria-label="Onyx"
    >
      <i className="block size-3.5 shrink-0 rotate-45 rounded-[4px] bg-text" aria-hidden />
      <span className="max-xl:hidden">Onyx</span>
    </Link>
  );
}

function SearchButton({ onClick }: { onClick: () => void }) {
  return (
    <button
      type="button"
      onClick={onClick}
      className="mb-2 flex h-8 items-center justify-between rounded-sm border border-line bg-surface px-2.5 text-meta text-dim max-xl:justify-center max-xl:px-0"
    >
      <span className="max-xl:sr-only">Search or command</span>
      <Search size={15} className="xl:hidden" aria-hidden />
      <kbd className="kbd max-xl:hidden" aria-hidden>
        ⌘K
      </kbd>
    </button>
  );
}

/** The pages below the sections. Some are listed only for the owner. */
function OtherPages() {
  const owner = useStore((state) => state.me?.role !== 'member');
  const troubles = useJobs((state) => state.jobs.filter((job) => job.troubles > 0).length);
  const listed = ALL_PAGES.filter(({ listedFor }) => listedFor === 'everybody' || (listedFor === 'owner' && owner));
  return (
    <div className="flex shrink-0 flex-col gap-0.5 border-t border-line pt-2">
      {listed.map((page) =>
        page === PAGES.system ? (
          <NavHealth key={page.path} />
        ) : (
          <NavItem key={page.path} page={page} badge={page === PAGES.jobs ? troubles : 0} />
        ),
      )}
    </div>
  );
}
