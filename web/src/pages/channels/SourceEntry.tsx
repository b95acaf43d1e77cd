import { useState } from 'react';
import { ChevronRight, FileText, Folder, Globe, RefreshCw, StickyNote, Trash2 } from 'lucide-react';
import type { Source, SourceProgress } from '@onyx/sdk';
import { ago, fullTime } from '../../ui/time';
import { stateOf } from './words';

const ICONS: Record<string, typeof FileText> = { file: FileText, folder: Folder, url: Globe, text: StickyNote };
const TONES = { plain: '', warn: 'text-warn', danger: 'text-danger' };

interface SourceEntryProps {
  source: Source;
  progress?: SourceProgress;
  onSync: () => void;
  onRemove: () => void;
}

/** A knowledge source: its name, its state with its documents, and the buttons that sync and remove it. */
export function SourceEntry({ source, progress, onSync, onRemove }: SourceEntryProps) {
  const Icon = ICONS[source.kind] ?? FileText;
  const detail = [source.from !== source.title && source.from, source.syncedAt && `synced ${ago(source.syncedAt)}`]
    .filter(Boolean)
    .join(' · ');
  return (
    <section aria-label={source.title} className="px-4 py-2.5">
      <div className="flex items-center gap-2.5">
        <Icon size={16} className="shrink-0 text-dim" aria-hidden />
        <div className="min-w-0 flex-1">
          <h3 className="truncate" dir="auto" title={source.title}>
            {source.title}
          </h3>
          {detail && (
            <p
              className="truncate text-tiny text-dim"
              title={[source.from, source.syncedAt && fullTime(source.syncedAt)].filter(Boolean).join(' · ')}
            >
              {detail}
            </p>
          )}
        </div>
        <button
          type="button"
          className="icon-btn"
          disabled={source.state === 'importing'}
          aria-label={`Sync ${source.title}`}
          title="Sync now"
          onClick={onSync}
        >
          <RefreshCw size={15} aria-hidden />
        </button>
        <button
          type="button"
          className="icon-btn -mr-2"
          aria-label={`Remove ${source.title}`}
          title="Remove"
          onClick={onRemove}
        >
          <Trash2 size={15} aria-hidden />
        </button>
      </div>
      <SourceState source={source} progress={progress} />
    </section>
  );
}

/** The state in words, which opens the list of documents; while they are imported, how far it is. */
function SourceState({ source, progress }: { source: Source; progress?: SourceProgress }) {
  const [open, setOpen] = useState(false);
  const { text, tone } = stateOf(source, progress);
  const importing = source.state === 'importing';
  const share = importing && progress?.total ? progress.done / progress.total : undefined;
  return (
    <div className="mt-0.5 pl-6.5">
      {source.documents.length > 0 && !importing ? (
        <button
          type="button"
          className={`inline-flex max-w-full items-center gap-1 text-left text-meta max-md:min-h-11 ${TONES[tone] || 'text-dim'}`}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <ChevronRight size={13} className={`shrink-0 transition-transform ${open ? 'rotate-90' : ''}`} aria-hidden />
          <span className="min-w-0 [overflow-wrap:anywhere]">{text}</span>
        </button>
      ) : (
        <p
          role={importing ? 'status' : undefined}
          className={`text-meta [overflow-wrap:anywhere] ${TONES[tone] || 'text-dim'}`}
        >
          {text}
        </p>
      )}
      {share !== undefined && (
        <div className="mt-1 h-1 overflow-hidden rounded-full bg-line" aria-hidden>
          <div className="h-full bg-accent transition-[width]" style={{ width: `${Math.round(share * 100)}%` }} />
        </div>
      )}
      {open && <Documents source={source} />}
    </div>
  );
}

function Documents({ source }: { source: Source }) {
  return (
    <ul className="mt-1 max-h-60 overflow-y-auto border-l border-line pl-3 text-meta" aria-label="Documents">
      {source.documents.map((document) => (
        <li key={document.from} className="py-0.5">
          <span className="block truncate" dir="auto" title={document.from}>
            {document.title || document.from} <span className="text-tiny text-dim">{kilobytes(document.bytes)}</span>
          </span>
          {document.error && <span className="block text-danger [overflow-wrap:anywhere]">{document.error}</span>}
        </li>
      ))}
    </ul>
  );
}

const kilobytes = (bytes: number) => (bytes < 1024 ? `${bytes} B` : `${Math.round(bytes / 1024)} kB`);
