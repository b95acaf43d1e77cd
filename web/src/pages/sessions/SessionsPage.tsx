import { useMemo, useState } from 'react';
import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useStore } from '../../store/state';
import { Header } from '../../shell/Header';
import { Empty, ErrorLine, Skeletons } from '../../ui/page';
import { byAge } from './groups';
import { SelectionBar } from './SelectionBar';
import { SessionFilters } from './SessionFilters';
import { SessionRow } from './SessionRow';
import { useSessionList, type Filters } from './useSessionList';

const NO_FILTERS: Filters = { query: '', agent: '', status: 'active', since: 'Any time', tag: '' };

/** The list of all chats, with search, filters, and actions on one or several of them. */
export function SessionsPage() {
  const online = useStore((state) => state.link === 'online');
  const [filters, setFilters] = useState(NO_FILTERS);
  const { sessions, fault, retry, more } = useSessionList(filters);
  // Absent while the selection mode is off.
  const [chosen, setChosen] = useState<ReadonlySet<string>>();
  const groups = useMemo(() => byAge(sessions ?? []), [sessions]);
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  return (
    <>
      <Header title="Chats">
        {sessions && sessions.length > 0 && (
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
          <SessionFilters filters={filters} onChange={setFilters} />
          {chosen && <SelectionBar ids={[...chosen]} status={filters.status} onDone={() => setChosen(undefined)} />}
          {fault && <ErrorLine fault={fault} action={{ label: 'Retry', run: retry }} />}
          {sessions === undefined &&
            !fault &&
            (online ? <Skeletons height="h-16" /> : <Empty>Your chats appear when the connection is back.</Empty>)}
          {sessions?.length === 0 && <NoSessions filters={filters} />}
          {groups.map(([name, group]) => (
            <section key={name} aria-label={name} className="mb-4">
              <h2 className="mb-1.5 px-1 text-tiny text-dim">{name}</h2>
              <ul className="card divide-y divide-line overflow-hidden">
                {group.map((session) => (
                  <SessionRow
                    key={session.id}
                    session={session}
                    chosen={chosen?.has(session.id)}
                    onChoose={() => toggle(session.id)}
                  />
                ))}
              </ul>
            </section>
          ))}
          {more && (
            <button type="button" className="btn mx-auto mt-4 flex" onClick={more}>
              Show more
            </button>
          )}
        </div>
      </div>
    </>
  );
}

function NoSessions({ filters: { query, agent, status, since, tag } }: { filters: Filters }) {
  const isFiltered = query || agent || tag || since !== 'Any time';
  const unfiltered = status === 'archived' ? 'No archived chats.' : 'No chats yet.';
  return (
    <p className="meta py-10 text-center">
      {isFiltered ? 'No chats match these filters.' : unfiltered}{' '}
      <Link to="/chat" className="text-accent underline underline-offset-3">
        New chat
      </Link>
    </p>
  );
}
