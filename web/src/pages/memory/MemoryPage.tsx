import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { FilePlus2, Users } from 'lucide-react';
import type { MemoryStatus } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { Ask } from '../../ui/Modal';
import { Page } from '../../ui/page';
import { useLoaded, type Loaded } from '../../ui/useLoaded';
import { useSettled } from '../../ui/useSettled';
import { Browse } from './Browse';
import { EntityPage } from './EntityPage';
import { CitedFile, FilePage } from './FilePage';
import { Found } from './Found';
import { KnownPage } from './KnownPage';
import { ReviewLogs } from './ReviewLogs';

export interface MemoryPlace {
  q?: string;
  path?: string;
  /** The path of a file as an agent wrote it, which may lack its root. */
  cited?: string;
  line?: number;
  last?: number;
  /** The name of the entity whose page is shown. */
  entity?: string;
  /** Shows the list of entities. */
  known?: boolean;
}

const STATUS_MS = 5_000;

/** Everything that agents remember and may read, with search and editing. */
export function MemoryPage({ place }: { place: MemoryPlace }) {
  if (place.path !== undefined)
    return <FilePage key={place.path} path={place.path} line={place.line} lastLine={place.last} />;
  if (place.cited !== undefined)
    return <CitedFile key={place.cited} cited={place.cited} line={place.line} lastLine={place.last} />;
  if (place.entity !== undefined) return <EntityPage key={place.entity} name={place.entity} />;
  if (place.known) return <KnownPage />;
  return <SearchAndBrowse q={place.q ?? ''} />;
}

function SearchAndBrowse({ q }: { q: string }) {
  const navigate = useNavigate();
  const [query, setQuery] = useState(q);
  const [naming, setNaming] = useState(false);
  const status = useLoaded('memory-status', () => onyx.memory.status());
  const { reload } = status;
  useEffect(() => {
    const timer = setInterval(reload, STATUS_MS);
    return () => clearInterval(timer);
  }, [reload]);
  const wanted = useSettled(query.trim());
  useEffect(() => {
    if (wanted !== q && wanted === query.trim())
      void navigate({ to: '/memory', search: wanted ? { q: wanted } : {}, replace: true });
  }, [wanted, query, q, navigate]);
  const create = (path?: string) => {
    setNaming(false);
    if (path) void navigate({ to: '/memory', search: { path } });
  };
  return (
    <Page
      title="Memory"
      bar={
        <>
          <SyncState status={status} />
          <Link to="/memory" search={{ known: true }} className="btn">
            <Users size={15} aria-hidden /> <span className="max-sm:sr-only">People and things</span>
          </Link>
          <ReviewLogs />
          <button type="button" className="btn" onClick={() => setNaming(true)}>
            <FilePlus2 size={15} aria-hidden /> <span className="max-sm:sr-only">New file</span>
          </button>
        </>
      }
    >
      <input
        type="search"
        className="field mb-4"
        placeholder="Search memory, notes and documents"
        aria-label="Search memory"
        value={query}
        onChange={(event) => setQuery(event.target.value)}
      />
      {q ? <Found q={q} /> : <Browse />}
      {naming && <Ask label="Path of the new file" value="vault/note.md" action="Create" onAnswer={create} />}
    </Page>
  );
}

/** Shows whether the index is complete. */
function SyncState({ status }: { status: Loaded<MemoryStatus> }) {
  if (!status.data) return null;
  const { text, tone } = wordsOf(status.data);
  const color = { ok: 'bg-ok', warn: 'bg-warn', danger: 'bg-danger' }[tone];
  return (
    <span className="meta inline-flex min-w-0 items-center gap-2" role="status" title={text}>
      <span className={`dot ${color}`} aria-hidden /> <span className="truncate max-sm:max-w-40">{text}</span>
    </span>
  );
}

function wordsOf(status: MemoryStatus): { text: string; tone: 'ok' | 'warn' | 'danger' } {
  const { embedding, progress } = status;
  if (status.error) return { text: status.error, tone: 'danger' };
  if (progress) return { text: `Reading files: ${progress.done} of ${progress.total}`, tone: 'warn' };
  if (status.waiting > 0) return { text: `${status.waiting} changed files are waiting to be read`, tone: 'warn' };
  if (embedding.state === 'failing') return { text: `Searched by words only: ${embedding.reason}`, tone: 'warn' };
  if (status.problemCount > 0) return { text: `${status.problemCount} files cannot be read`, tone: 'warn' };
  const files = `${status.sources} ${status.sources === 1 ? 'file' : 'files'}`;
  return { text: embedding.state === 'off' ? `${files}, searched by words only` : files, tone: 'ok' };
}
