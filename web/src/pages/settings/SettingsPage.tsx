import { useState } from 'react';
import { Link } from '@tanstack/react-router';
import { useStore } from '../../store/state';
import { Header } from '../../shell/Header';
import { useNarrow } from '../../ui/useNarrow';
import { SECTIONS } from './sections';

/** Shows one section; the search covers all. On a phone the list and each section are separate pages. */
export function SettingsPage({ section }: { section?: string }) {
  const [query, setQuery] = useState('');
  const owner = useStore((state) => state.me?.role !== 'member');
  const known = SECTIONS.filter((one) => owner || !one.owner);
  const wanted = query.trim().toLowerCase();
  const found = known.filter((one) => `${one.title} ${one.words}`.toLowerCase().includes(wanted));
  const shown = known.find((one) => one.id === section) ?? known[0];
  const isList = section === undefined;
  const narrow = useNarrow();
  return (
    <>
      {narrow ? (
        <Header title={isList ? 'Settings' : (shown?.title ?? 'Settings')} back={isList ? '/more' : '/settings'} />
      ) : (
        <Header title="Settings" />
      )}
      <div className="flex min-h-0 flex-1 flex-col md:flex-row">
        <nav
          aria-label="Settings"
          className={`shrink-0 border-line p-3 max-md:overflow-y-auto md:w-52 md:overflow-y-auto md:border-r ${isList ? 'max-md:flex-1' : 'max-md:hidden'}`}
        >
          <input
            type="search"
            className="field mb-2"
            placeholder="Search settings"
            aria-label="Search settings"
            value={query}
            onChange={(event) => setQuery(event.target.value)}
          />
          <div className="flex flex-col gap-0.5">
            {found.map((one) => (
              <Link
                key={one.id}
                to="/settings/$section"
                params={{ section: one.id }}
                className="nav-item"
                aria-current={one.id === shown?.id && !(narrow && isList) ? 'page' : undefined}
                onClick={() => setQuery('')}
              >
                {one.title}
              </Link>
            ))}
            {found.length === 0 && <p className="meta px-2 py-2">No matching settings.</p>}
          </div>
        </nav>
        <div className={`min-w-0 flex-1 overflow-y-auto px-4 py-4 md:px-6 md:py-6 ${isList ? 'max-md:hidden' : ''}`}>
          <div className="mx-auto max-w-[680px]">{shown && <shown.Body />}</div>
        </div>
      </div>
    </>
  );
}
