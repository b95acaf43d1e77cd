import { Link, useLocation } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ALL_PAGES, PAGES, type Page } from '../../pages/pages';
import { useStore } from '../../store/state';
import { useWaiting } from '../useWaiting';

/** The links of a phone's bar, and the further pages on which each is marked as the current one. */
const BAR: { page: Page; also: readonly Page[] }[] = [
  { page: PAGES.sessions, also: [PAGES.newChat] },
  { page: PAGES.inbox, also: [] },
  { page: PAGES.spaces, also: [] },
  { page: PAGES.more, also: ALL_PAGES.filter((page) => page.detail) },
];

/** The navigation of narrow screens. */
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
