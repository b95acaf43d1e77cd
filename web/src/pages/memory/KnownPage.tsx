import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { onyx } from '../../store/client';
import { Empty, Page, Shown } from '../../ui/page';
import { ago } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import { useSettled } from '../../ui/useSettled';

/** The entities of the knowledge graph: people and things that texts mention. */
export function KnownPage() {
  const [part, setPart] = useState('');
  const wanted = useSettled(part.trim());
  const known = useLoaded(`known ${wanted}`, () => onyx.memory.known(wanted || undefined));
  return (
    <Page title="People and things" back="/memory">
      <input
        type="search"
        className="field mb-4"
        placeholder="Find a name"
        aria-label="Find a name"
        value={part}
        onChange={(event) => setPart(event.target.value)}
      />
      <Shown of={known} rows={6} height="h-12">
        {(entities) => (
          <>
            {entities.length === 0 && (
              <Empty>
                {wanted ? 'No such name.' : 'Nothing yet. Facts are found in memory, notes and conversations.'}
              </Empty>
            )}
            <ul className="flex flex-col gap-1" aria-label="Names">
              {entities.map((entity) => (
                <li key={entity.name}>
                  <Link
                    to="/memory"
                    search={{ entity: entity.name }}
                    className="card flex items-baseline gap-3 px-4 py-2 hover:border-dim/60"
                  >
                    <span className="min-w-0 flex-1 truncate font-semibold" dir="auto">
                      {entity.name}
                    </span>
                    <span className="meta">{entity.facts === 1 ? '1 fact' : `${entity.facts} facts`}</span>
                    <span className="meta">{ago(entity.lastSaid)}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </>
        )}
      </Shown>
    </Page>
  );
}
