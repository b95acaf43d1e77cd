import { useEffect, useRef, useState } from 'react';
import { Link } from '@tanstack/react-router';
import { useStore } from '../../store/state';
import { Header } from '../../shell/Header';
import { SECTIONS } from './sections';

/** One section at a time; the search looks through the words of all. */
export function SettingsPage({ section = 'general' }: { section?: string }) {
  const [query, setQuery] = useState('');
  const owner = useStore((state) => state.me?.role !== 'member');
  const known = SECTIONS.filter((one) => owner || !one.owner);
  const wanted = query.trim().toLowerCase();
  const found = known.filter((one) => `${one.title} ${one.words}`.toLowerCase().includes(wanted));
  const shown = known.find((one) => one.id === section) ?? known[0];
  const row = useRef<HTMLDivElement>(null);
  // On a phone the sections are a row that is wider than the screen.
  useEffect(() => {
    // In braces: newer browsers answer with a promise, which React would take for a clean-up.
    row.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [shown?.id]);
  return (
    <>
      <Header title="Settings" />
      <div className="flex min-h-0 flex-1 flex-col md:flex-row">
        <nav
          aria-label="Settings"
          className="shrink-0 border-line max-md:border-b md:w-52 md:overflow-y-auto md:border-r md:p-3"
        >
          <div className="max-md:px-4 max-md:pt-2 md:mb-2">
            <input
              type="search"
              className="field"
              placeholder="Search settings"
              aria-label="Search settings"
              value={query}
              onChange={(event) => setQuery(event.target.value)}
            />
          </div>
          <div ref={row} className="flex gap-0.5 max-md:overflow-x-auto max-md:px-3 max-md:py-1 md:flex-col">
            {/* On a phone these have no place in the bar below. */}
            {['/channels', '/memory', '/agents', '/actions', '/jobs', '/system']
              .filter((to) => to.includes(wanted))
              .map((to) => (
                <Link key={to} to={to} className="nav-item shrink-0 capitalize md:hidden">
                  {to.slice(1)}
                </Link>
              ))}
            {found.map((one) => (
              <Link
                key={one.id}
                to="/settings/$section"
                params={{ section: one.id }}
                className="nav-item shrink-0"
                aria-current={one.id === shown?.id ? 'page' : undefined}
                onClick={() => setQuery('')}
              >
                {one.title}
              </Link>
            ))}
            {found.length === 0 && <p className="meta px-2 py-2">No matching settings.</p>}
          </div>
        </nav>
        <div className="min-w-0 flex-1 overflow-y-auto px-4 py-4 md:px-6 md:py-6">
          <div className="mx-auto max-w-[680px]">{shown && <shown.Body />}</div>
        </div>
      </div>
    </>
  );
}
