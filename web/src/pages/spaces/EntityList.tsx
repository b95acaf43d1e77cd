import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Globe, Plus } from 'lucide-react';
import type { Entity } from '@onyx/sdk';
import { safeLink, type SafeLink } from '../../markdown/links';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Ask } from '../../ui/Modal';
import { Empty, Shown } from '../../ui/page';
import { ago, fullTime } from '../../ui/time';
import { nameOfStatus } from './board';
import { CaptureBox } from './CaptureBox';
import type { PlaceOf } from './places';
import { useEntities } from './useEntities';

/** A list with at least this many entries has a search field. */
const MANY = 8;

/** The pages, refs or projects of a space, last changed first. */
export function EntityList({ space, place }: { space: string; place: PlaceOf }) {
  const entities = useEntities(space, place.place);
  const navigate = useNavigate();
  const [naming, setNaming] = useState(false);
  const [query, setQuery] = useState('');
  const isRefs = place.place === 'refs';
  const create = async (title?: string) => {
    setNaming(false);
    const made =
      title &&
      (await attempt(`The ${place.kind} was not created`, () => onyx.spaces.add(space, place.place, { title })));
    if (made)
      await navigate({ to: '/spaces/$space/$place/$entity', params: { space, place: place.place, entity: made.id } });
  };
  const wanted = query.trim().toLowerCase();
  const isMany = (entities.data?.length ?? 0) >= MANY;
  return (
    <>
      {isRefs && <CaptureBox space={space} onCaptured={entities.reload} />}
      <div className="mb-3 flex min-h-8 flex-wrap items-center gap-2">
        {isMany && (
          <input
            type="search"
            className="field min-w-40 flex-1"
            placeholder={`Find in ${place.title.toLowerCase()}`}
            aria-label={`Find in ${place.title.toLowerCase()}`}
            value={query}
            onChange={(event) => setQuery(event.target.value)}
          />
        )}
        {!isMany && <h2 className="min-w-0 flex-1 font-semibold">{place.title}</h2>}
        {!isRefs && entities.data?.length !== 0 && (
          <button type="button" className="btn" onClick={() => setNaming(true)}>
            <Plus size={15} aria-hidden /> New {place.kind}
          </button>
        )}
      </div>
      <Shown of={entities} height="h-16">
        {(list) => {
          const found = list.filter((entity) =>
            `${entity.title} ${entity.tags.join(' ')}`.toLowerCase().includes(wanted),
          );
          if (list.length === 0) {
            return (
              <Empty>
                {place.none}{' '}
                {!isRefs && (
                  <button
                    type="button"
                    className="text-accent underline underline-offset-3"
                    onClick={() => setNaming(true)}
                  >
                    New {place.kind}
                  </button>
                )}
              </Empty>
            );
          }
          if (found.length === 0) return <Empty>No results.</Empty>;
          return (
            <ul className="card divide-y divide-line overflow-hidden" aria-label={place.title}>
              {found.map((entity) => (
                <Row key={entity.id} entity={entity} place={place} />
              ))}
            </ul>
          );
        }}
      </Shown>
      {naming && (
        <Ask
          label={`Title of the new ${place.kind}`}
          value=""
          action="Create"
          onAnswer={(title) => void create(title)}
        />
      )}
    </>
  );
}

function Row({ entity, place }: { entity: Entity; place: PlaceOf }) {
  const about = [
    entity.status && nameOfStatus(entity.status),
    sourceOf(entity)?.host,
    ...entity.tags.map((tag) => `#${tag}`),
  ]
    .filter(Boolean)
    .join(' · ');
  return (
    <li>
      <Link
        to="/spaces/$space/$place/$entity"
        params={{ space: entity.space, place: place.place, entity: entity.id }}
        className="flex min-w-0 items-center gap-3 px-4 py-2.5 hover:bg-sunken"
      >
        {entity.origin === 'external' && (
          <Globe size={15} className="shrink-0 text-dim" aria-label="from outside" role="img" />
        )}
        <span className="min-w-0 flex-1">
          <span className="block truncate" dir="auto">
            {entity.title}
          </span>
          {about && <span className="meta block truncate">{about}</span>}
        </span>
        <span className="meta shrink-0" title={fullTime(entity.updatedAt)}>
          {ago(entity.updatedAt)}
        </span>
      </Link>
    </li>
  );
}

/** The host that a captured ref came from, if any. */
export function sourceOf(entity: Entity): SafeLink | undefined {
  return safeLink(entity.fields['source'] ?? entity.fields['url'] ?? '');
}
