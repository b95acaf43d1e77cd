import { Command } from 'cmdk';
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
  type LucideIcon,
} from 'lucide-react';
import { usePreferences } from '../../store/preferences';
import { startTour } from '../tour-offer';
import { Heading, ITEM } from './item';

interface PlaceEntry {
  title: string;
  icon: LucideIcon;
  to: string;
  /** The shortcut that opens it too. */
  keys?: string;
}

/** The pages that the palette opens. Some have other titles here than in the navigation. */
const PLACES: PlaceEntry[] = [
  { title: 'New chat', icon: Plus, to: '/chat', keys: 'N' },
  { title: 'Inbox', icon: Inbox, to: '/inbox', keys: 'I' },
  { title: 'All chats', icon: MessageSquare, to: '/sessions' },
  { title: 'Spaces', icon: LayoutGrid, to: '/spaces', keys: 'S' },
  { title: 'Memory', icon: BookOpen, to: '/memory', keys: 'M' },
  { title: 'Channels', icon: Hash, to: '/channels' },
  { title: 'Jobs', icon: CalendarClock, to: '/jobs' },
  { title: 'Actions', icon: Zap, to: '/actions' },
  { title: 'Agents', icon: Users, to: '/agents' },
  { title: 'Logs', icon: ScrollText, to: '/system/logs' },
  { title: 'Usage and cost', icon: Activity, to: '/system/usage' },
  { title: 'Providers', icon: SlidersHorizontal, to: '/settings/providers' },
  { title: 'Settings', icon: SlidersHorizontal, to: '/settings', keys: ',' },
  { title: 'System health', icon: Activity, to: '/system' },
];

const THEMES = ['light', 'dark', 'system'] as const;

interface CommandsProps {
  onOpen: (address: string) => void;
  onShortcuts: () => void;
  onClose: () => void;
}

/** Commands that are always there: the pages, the themes, the tour and the list of shortcuts. */
export function Commands({ onOpen, onShortcuts, onClose }: CommandsProps) {
  return (
    <Command.Group heading={<Heading>Commands</Heading>}>
      {PLACES.map(({ title, icon, to, keys }) => (
        <Entry key={to} icon={icon} onSelect={() => onOpen(to)} keys={keys}>
          {title}
        </Entry>
      ))}
      {THEMES.map((theme) => (
        <Entry key={theme} icon={Moon} onSelect={() => (usePreferences.setState({ theme }), onClose())}>
          {`Theme: ${theme}`}
        </Entry>
      ))}
      <Entry icon={Compass} onSelect={() => (onClose(), startTour())}>
        Take the tour
      </Entry>
      <Entry icon={Keyboard} onSelect={() => (onClose(), onShortcuts())} keys="?">
        Keyboard shortcuts
      </Entry>
    </Command.Group>
  );
}

interface EntryProps {
  icon: LucideIcon;
  keys?: string;
  onSelect: () => void;
  children: string;
}

function Entry({ icon: Icon, keys, onSelect, children }: EntryProps) {
  return (
    <Command.Item value={children} onSelect={onSelect} className={ITEM}>
      <span className="text-dim" aria-hidden>
        <Icon size={16} />
      </span>
      {children}
      {keys && <kbd className="kbd ml-auto">{keys}</kbd>}
    </Command.Item>
  );
}
