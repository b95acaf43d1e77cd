import { Link } from '@tanstack/react-router';
import {
  Activity,
  BookOpen,
  CalendarClock,
  ChevronRight,
  Hash,
  SlidersHorizontal,
  Users,
  Zap,
  type LucideIcon,
} from 'lucide-react';
import { useJobs } from '../store/jobs';
import { useStore } from '../store/state';
import { Page } from '../ui/page';

const PLACES: { to: string; label: string; detail: string; icon: LucideIcon }[] = [
  { to: '/channels', label: 'Channels', detail: 'Threads with several agents', icon: Hash },
  { to: '/memory', label: 'Memory', detail: 'Files and what is known from them', icon: BookOpen },
  { to: '/agents', label: 'Agents', detail: 'Who answers, and what they may do', icon: Users },
  { to: '/actions', label: 'Actions', detail: 'Prompts as buttons', icon: Zap },
  { to: '/jobs', label: 'Jobs', detail: 'Work on a schedule', icon: CalendarClock },
  { to: '/system', label: 'System', detail: 'Health, logs, usage', icon: Activity },
  { to: '/settings', label: 'Settings', detail: 'Appearance, providers, people', icon: SlidersHorizontal },
];

/** Links to every page that does not fit in the bottom bar of a phone. */
export function MorePage() {
  const troubles = useJobs((state) => state.jobs.filter((job) => job.troubles > 0).length);
  const offline = useStore((state) => state.link === 'offline');
  const noteOf: Record<string, string | undefined> = {
    '/jobs': troubles > 0 ? `${troubles} failing` : undefined,
    '/system': offline ? 'Not connected' : undefined,
  };
  return (
    <Page title="More">
      <ul className="card divide-y divide-line overflow-hidden">
        {PLACES.map(({ to, label, detail, icon: Icon }) => (
          <li key={to}>
            <Link to={to} className="flex min-h-14 items-center gap-3 px-4 py-2 hover:bg-sunken">
              <Icon size={18} className="shrink-0 text-dim" aria-hidden />
              <span className="min-w-0 flex-1">
                {label}
                <span className="meta block truncate">{detail}</span>
              </span>
              {noteOf[to] && <span className="shrink-0 text-meta text-warn">{noteOf[to]}</span>}
              <ChevronRight size={16} className="shrink-0 text-dim" aria-hidden />
            </Link>
          </li>
        ))}
      </ul>
    </Page>
  );
}
