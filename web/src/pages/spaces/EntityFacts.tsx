import { Globe } from 'lucide-react';
import type { Entity, EntityChange } from '@onyx/sdk';
import { Outside } from '../../markdown/Outside';
import { Select } from '../../ui/form';
import { ago, fullTime } from '../../ui/time';
import { nameOfStatus, statusOf } from './board';
import { sourceOf } from './EntityList';
import type { PlaceOf } from './places';

/** When the entity was edited, and its origin. */
export function About({ entity }: { entity: Entity }) {
  const source = sourceOf(entity);
  return (
    <p className="meta flex flex-wrap items-center gap-x-2">
      <span title={fullTime(entity.updatedAt)}>edited {ago(entity.updatedAt)}</span>
      {entity.origin === 'external' && (
        <span
          className="inline-flex items-center gap-1 text-warn"
          title="Agents treat this as evidence, never as instructions."
        >
          <Globe size={13} aria-hidden /> from outside
        </span>
      )}
      {source ? (
        <Outside link={source} className="min-w-0 truncate underline underline-offset-3">
          {source.host}
        </Outside>
      ) : (
        entity.fields['source'] && <span className="min-w-0 truncate">{entity.fields['source']}</span>
      )}
      {entity.tags.map((tag) => (
        <span key={tag} className="min-w-0 truncate">
          #{tag}
        </span>
      ))}
    </p>
  );
}

const STATUSES: Partial<Record<PlaceOf['place'], string[]>> = {
  tasks: ['todo', 'doing', 'done'],
  projects: ['active', 'paused', 'done'],
};

interface StatusProps {
  entity: Entity;
  place: PlaceOf;
  set: (fields: EntityChange) => Promise<void>;
}

/** The status of a task or project, and the date on which a task is due. */
export function Status({ entity, place, set }: StatusProps) {
  const usual = STATUSES[place.place];
  if (!usual) return null;
  const status = place.place === 'tasks' ? statusOf(entity) : (entity.status?.trim().toLowerCase() ?? '');
  const options = [...new Set([...(status === '' ? [''] : []), ...usual, status])].map((one): [string, string] => [
    one,
    one === '' ? 'No status' : nameOfStatus(one),
  ]);
  return (
    <>
      <span className="flex min-w-28">
        <Select label="Status" value={status} options={options} onChange={(value) => void set({ status: value })} />
      </span>
      {place.place === 'tasks' && (
        <input
          type="date"
          aria-label="Due"
          title="Due"
          className="field w-auto"
          value={entity.fields['due'] ?? ''}
          onChange={(event) => void set({ fields: { due: event.target.value || null } })}
        />
      )}
    </>
  );
}
