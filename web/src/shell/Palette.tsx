import { Command } from 'cmdk';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import {
  Activity,
  BookOpen,
  CalendarClock,
  Compass,
  Hash,
  Inbox,
  Keyboard,
  LayoutGrid,
  MessageSquare,
  Moon,
  Plus,
  ScrollText,
  SlidersHorizontal,
  Users,
  Zap,
} from 'lucide-react';
import type { Session } from '@onyx/sdk';
import { PaletteActions } from '../pages/actions/PaletteActions';
import { socket } from '../store/client';
import { usePreferences } from '../store/preferences';
import { useSpaces } from '../store/spaces';
import { Modal } from '../ui/Modal';
import { Snippet } from '../ui/Snippet';
import { ago } from '../ui/time';
import { fit } from './finding';
import { titleOf, useRecent } from './links';
import { startTour } from './tour-offer';

const ITEM =
  'flex min-h-10 cursor-pointer items-center gap-2.5 rounded-sm px-3 py-1.5 text-[14px] data-[selected=true]:bg-sunken';

/** The command palette: pages, chats, spaces and actions, found by typing. */
export function Palette({ onClose, onShortcuts }: { onClose: () => void; onShortcuts: () => void }) {
  const navigate = useNavigate();
  const { pinned, recent } = useRecent(30);
  const [query, setQuery] = useState('');
  const found = useSearch(query);
  const spaces = useSpaces((state) => state.list) ?? [];
  const open = (session: Session) => () => {
    onClose();
    const { found: at } = session;
    void navigate({
      to: '/chat/$id',
      params: { id: at?.session ?? session.id },
      search: { turn: at?.turn ?? undefined },
    });
  };
  const go = (to: string) => () => {
    onClose();
    void navigate({ to });
  };
  const said = new Map(found.map((session) => [session.id, session]));
  const near = [...pinned, ...recent];
  const known = new Set(near.map((session) => session.id));
  const chats = [
    ...near.map((session) => ({ ...session, found: said.get(session.id)?.found })),
    ...found.filter((session) => !known.has(session.id)),
  ];
  return (
    <Modal label="Search or command" onClose={onClose}>
      <Command label="Search or command" loop filter={score}>
        <Command.Input
          data-first-focus
          value={query}
          onValueChange={setQuery}
          placeholder="Search chats or type a command"
          className="h-12 w-full border-b border-line bg-transparent px-4 text-[16px] outline-none placeholder:text-dim md:text-body"
        />
        <Command.List className="max-h-[50vh] overflow-auto p-1.5">
          <Command.Empty className="px-3 py-6 text-center text-meta text-dim">No results.</Command.Empty>
          <Command.Group heading={<Heading>Commands</Heading>}>
            <Entry icon={<Plus size={16} />} onSelect={go('/chat')} keys="N">
              New chat
            </Entry>
            <Entry icon={<Inbox size={16} />} onSelect={go('/inbox')} keys="I">
              Inbox
            </Entry>
            <Entry icon={<MessageSquare size={16} />} onSelect={go('/sessions')}>
              All chats
            </Entry>
            <Entry icon={<LayoutGrid size={16} />} onSelect={go('/spaces')} keys="S">
              Spaces
            </Entry>
            <Entry icon={<BookOpen size={16} />} onSelect={go('/memory')} keys="M">
              Memory
            </Entry>
            <Entry icon={<Hash size={16} />} onSelect={go('/channels')}>
              Channels
            </Entry>
            <Entry icon={<CalendarClock size={16} />} onSelect={go('/jobs')}>
              Jobs
            </Entry>
            <Entry icon={<Zap size={16} />} onSelect={go('/actions')}>
              Actions
            </Entry>
            <Entry icon={<Users size={16} />} onSelect={go('/agents')}>
              Agents
            </Entry>
            <Entry icon={<ScrollText size={16} />} onSelect={go('/system/logs')}>
              Logs
            </Entry>
            <Entry icon={<Activity size={16} />} onSelect={go('/system/usage')}>
              Usage and cost
            </Entry>
            <Entry icon={<SlidersHorizontal size={16} />} onSelect={go('/settings/providers')}>
              Providers
            </Entry>
            <Entry icon={<SlidersHorizontal size={16} />} onSelect={go('/settings')} keys=",">
              Settings
            </Entry>
            <Entry icon={<Activity size={16} />} onSelect={go('/system')}>
              System health
            </Entry>
            {(['light', 'dark', 'system'] as const).map((theme) => (
              <Entry
                key={theme}
                icon={<Moon size={16} />}
                onSelect={() => (usePreferences.setState({ theme }), onClose())}
              >
                {`Theme: ${theme}`}
              </Entry>
            ))}
            <Entry icon={<Compass size={16} />} onSelect={() => (onClose(), startTour())}>
              Take the tour
            </Entry>
            <Entry icon={<Keyboard size={16} />} onSelect={() => (onClose(), onShortcuts())} keys="?">
              Keyboard shortcuts
            </Entry>
          </Command.Group>
          {spaces.length > 0 && (
            <Command.Group heading={<Heading>Spaces</Heading>}>
              {spaces.map((space) => (
                <Command.Item
                  key={space.id}
                  value={`${space.name} space ${space.id}`}
                  keywords={[space.name]}
                  onSelect={go(`/spaces/${encodeURIComponent(space.id)}`)}
                  className={ITEM}
                >
                  <LayoutGrid size={16} className="shrink-0 text-dim" aria-hidden />
                  <span className="truncate">{space.name}</span>
                </Command.Item>
              ))}
            </Command.Group>
          )}
          <PaletteActions heading={<Heading>Actions</Heading>} className={ITEM} onClose={onClose} />
          <Command.Group heading={<Heading>Chats</Heading>}>
            {chats.map((session) => (
              <Command.Item
                // A chat with a server hit gets a new key, because the palette does not score known entries again.
                key={`${session.id}${said.has(session.id) ? ' said' : ''}`}
                value={`${titleOf(session)} ${session.id}`}
                keywords={[titleOf(session), said.has(session.id) ? SAID : session.preview]}
                onSelect={open(session)}
                className={ITEM}
              >
                <MessageSquare size={16} className="shrink-0 text-dim" aria-hidden />
                <span className="min-w-0 flex-1">
                  <span className="block truncate">{titleOf(session)}</span>
                  {session.found && (
                    <span className="block truncate text-meta text-dim">
                      <Snippet parts={session.found.snippet} />
                    </span>
                  )}
                </span>
                <span className="shrink-0 text-tiny text-dim">{ago(session.updatedAt)}</span>
              </Command.Item>
            ))}
          </Command.Group>
        </Command.List>
      </Command>
    </Modal>
  );
}

/** A keyword that marks hits of the server, which names do not contain. */
const SAID = '\u0000said';

/** Scores by name (the first keyword, or the value); a hit in a chat's text or preview scores lowest. */
function score(value: string, typed: string, keywords: string[] = []): number {
  const [name = value, more = ''] = keywords;
  const byName = fit(name, typed);
  if (byName > 0) return byName;
  return more === SAID ? 0.2 : fit(more, typed) > 0 ? 0.1 : 0;
}

const Heading = ({ children }: { children: ReactNode }) => (
  <span className="block px-3 pt-2 pb-1 text-tiny text-dim">{children}</span>
);

function Entry({
  icon,
  keys,
  onSelect,
  children,
}: {
  icon: ReactNode;
  keys?: string;
  onSelect: () => void;
  children: string;
}) {
  return (
    <Command.Item value={children} onSelect={onSelect} className={ITEM}>
      <span className="text-dim" aria-hidden>
        {icon}
      </span>
      {children}
      {keys && <kbd className="kbd ml-auto">{keys}</kbd>}
    </Command.Item>
  );
}

/** Chats found by the server, because the browser's list holds only the newest. */
function useSearch(query: string): Session[] {
  const [found, setFound] = useState<Session[]>([]);
  useEffect(() => {
    if (query.trim().length < 2) return setFound([]);
    let current = true;
    const timer = setTimeout(() => {
      socket.sessions({ q: query.trim(), limit: 20 }).then(
        (list) => current && setFound(list.sessions),
        () => current && setFound([]),
      );
    }, 150);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [query]);
  return found;
}
