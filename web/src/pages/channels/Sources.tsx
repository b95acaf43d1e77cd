import { useState } from 'react';
import { ChevronRight, FileText, Folder, Globe, Plus, RefreshCw, StickyNote, Trash2 } from 'lucide-react';
import type { Source, SourceProgress, SourceScope } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Card } from '../../ui/form';
import { Confirm } from '../../ui/Modal';
import { Shown } from '../../ui/page';
import { ago, fullTime } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import { AddSource } from './AddSource';
import { useImports } from './useImports';
import { stateOf } from './words';

/** The knowledge sources of a space, channel, thread or agent, with buttons to add, sync and remove. */
export function Sources({ scope }: { scope: SourceScope }) {
  const sources = useLoaded(`sources ${scope.type} ${scope.id}`, async () =>
    (await onyx.sources.list({ scope: scope.id })).filter((source) => source.scope.type === scope.type),
  );
  const progress = useImports(sources.data, sources.reload);
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Source>();
  const sync = async (source: Source) => {
    await attempt(`${source.title} was not synced`, () => onyx.sources.sync(source.id));
    sources.reload();
  };
  const answer = async (yes: boolean) => {
    const source = removing;
    setRemoving(undefined);
    if (!yes || !source) return;
    await attempt(`${source.title} was not removed`, () => onyx.sources.remove(source.id));
    sources.reload();
  };
  return (
    <>
      <Shown of={sources} rows={2} height="h-12">
        {(list) => (
          <Card>
            {list.map((source) => (
              <Entry
                key={source.id}
                source={source}
                progress={progress[source.id]}
                onSync={() => void sync(source)}
                onRemove={() => setRemoving(source)}
              />
            ))}
            <div className="flex min-h-12 flex-wrap items-center gap-2 px-4 py-1.5">
              <span className="meta min-w-0 flex-1">{list.length === 0 ? 'No sources yet.' : ''}</span>
              <button type="button" className="btn" onClick={() => setAdding(true)}>
                <Plus size={15} aria-hidden /> Add a source
              </button>
            </div>
          </Card>
        )}
      </Shown>
      {adding && <AddSource scope={scope} close={() => setAdding(false)} added={sources.reload} />}
      {removing && (
        <Confirm
          question="Remove this source?"
          detail={`Agents will no longer find “${removing.title}”. The original is not changed.`}
          action="Remove"
          onAnswer={(yes) => void answer(yes)}
        />
      )}
    </>
  );
}

const ICONS: Record<string, typeof FileText> = { file: FileText, folder: Folder, url: Globe, text: StickyNote };
const TONES = { plain: '', warn: 'text-warn', danger: 'text-danger' };

function Entry({
  source,
  progress,
  onSync,
  onRemove,
}: {
  source: Source;
  progress?: SourceProgress;
  onSync: () => void;
  onRemove: () => void;
}) {
  const [open, setOpen] = useState(false);
  const Icon = ICONS[source.kind] ?? FileText;
  const { text, tone } = stateOf(source, progress);
  const importing = source.state === 'importing';
  const share = importing && progress?.total ? progress.done / progress.total : undefined;
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
          disabled={importing}
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
      <div className="mt-0.5 pl-6.5">
        {source.documents.length > 0 && !importing ? (
          <button
            type="button"
            className={`inline-flex max-w-full items-center gap-1 text-left text-meta max-md:min-h-11 ${TONES[tone] || 'text-dim'}`}
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            <ChevronRight
              size={13}
              className={`shrink-0 transition-transform ${open ? 'rotate-90' : ''}`}
              aria-hidden
            />
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
    </section>
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
