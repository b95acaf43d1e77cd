import { useState } from 'react';
import { Plus } from 'lucide-react';
import type { Source, SourceScope } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Card } from '../../ui/form';
import { Confirm } from '../../ui/Modal';
import { Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { AddSource } from './AddSource';
import { SourceEntry } from './SourceEntry';
import { useImports } from './useImports';

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
              <SourceEntry
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
