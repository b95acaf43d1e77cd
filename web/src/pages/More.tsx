import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import { useJobs } from '../store/jobs';
import { useStore } from '../store/state';
import { Page } from '../ui/page';
import { ALL_PAGES, PAGES } from './pages';

const LISTED = ALL_PAGES.filter((page) => page.detail);

/** Links to every page that does not fit in the bottom bar of a phone. */
export function MorePage() {
  const troubles = useJobs((state) => state.jobs.filter((job) => job.troubles > 0).length);
  const offline = useStore((state) => state.link === 'offline');
  const noteOf: Record<string, string | undefined> = {
    [PAGES.jobs.path]: troubles > 0 ? `${troubles} failing` : undefined,
    [PAGES.system.path]: offline ? 'Not connected' : undefined,
  };
  return (
    <Page title="More">
      <ul className="card divide-y divide-line overflow-hidden">
        {LISTED.map(({ path, title, detail, icon: Icon }) => (
          <li key={path}>
            <Link to={path} className="flex min-h-14 items-center gap-3 px-4 py-2 hover:bg-sunken">
              <Icon size={18} className="shrink-0 text-dim" aria-hidden />
              <span className="min-w-0 flex-1">
                {title}
                <span className="meta block truncate">{detail}</span>
              </span>
              {noteOf[path] && <span className="shrink-0 text-meta text-warn">{noteOf[path]}</span>}
              <ChevronRight size={16} className="shrink-0 text-dim" aria-hidden />
            </Link>
          </li>
        ))}
      </ul>
    </Page>
  );
}
