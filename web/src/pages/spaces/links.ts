// Links between what a space holds: by title, as `[[Title]]`.

import type { Entity, EntityPlace } from '@onyx/sdk';
import { onyx } from '../../store/client';
import type { LinkTarget } from './linkTargets';
import { PLACES } from './places';

const FRESH_MS = 10_000;
const MOST = 500;
const known = new Map<string, { at: number; list: Promise<LinkTarget[]> }>();

/** The link targets of a space, requested at most every few seconds. */
export function targetsOf(space: string): Promise<LinkTarget[]> {
  const kept = known.get(space);
  if (kept && Date.now() - kept.at < FRESH_MS) return kept.list;
  const list = Promise.all(
    PLACES.map(async ({ place, kind }) => {
      const { entities } = await onyx.spaces.entities(space, place, { limit: MOST });
      return entities.map(({ id, title }) => ({ place, id, title, kind }));
    }),
  ).then((all) => all.flat());
  known.set(space, { at: Date.now(), list });
  list.catch(() => known.delete(space));
  return list;
}

export const forgetTargets = (space: string) => void known.delete(space);

/** The entities of all places in the space that link to an entity. */
export async function backlinksOf(space: string, to: { place: EntityPlace; id: string }): Promise<Backlink[]> {
  const found = await Promise.all(
    PLACES.map(async ({ place }) => (await onyx.spaces.linksTo(space, place, to)).map((entity) => ({ place, entity }))),
  );
  return found.flat().filter(({ place, entity }) => place !== to.place || entity.id !== to.id);
}

export interface Backlink {
  place: EntityPlace;
  entity: Entity;
}
