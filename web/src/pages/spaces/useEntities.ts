import { useEffect } from 'react';
import type { Entity, EntityPlace } from '@onyx/sdk';
import { onyx, watch } from '../../store/client';
import { useLoaded, type Loaded } from '../../ui/useLoaded';

const PAGE = 500;
const MOST_PAGES = 4;

async function all(space: string, place: EntityPlace): Promise<Entity[]> {
  const found: Entity[] = [];
  let before: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer = await onyx.spaces.entities(space, place, { before, limit: PAGE });
    found.push(...answer.entities);
    before = answer.before;
    if (before === undefined) break;
  }
  return found;
}

/** The entities of one place, last changed first; loaded again when an agent or another tab changes files. */
export function useEntities(space: string, place: EntityPlace): Loaded<Entity[]> {
  const loaded = useLoaded(`entities ${space} ${place}`, () => all(space, place));
  useChanges(loaded.reload);
  return loaded;
}

const listeners = new Set<() => void>();

/** Applies a change made here without waiting for the server's notice. */
export function tellChange(): void {
  for (const changed of listeners) changed();
}

/** Notices of the memory and of drafts mean that files may have changed. */
export function useChanges(changed: () => void): void {
  useEffect(() => {
    listeners.add(changed);
    const ends = [watch('memory', changed), watch('drafts', changed), () => void listeners.delete(changed)];
    return () => {
      for (const end of ends) end();
    };
  }, [changed]);
}
