// The page, task, ref or project that a chat is about, as text for addresses.

import type { EntityKind, EntityPlace, EntityRef } from '@onyx/sdk';

const PLACES: Record<EntityPlace, EntityKind> = { pages: 'page', tasks: 'task', refs: 'ref', projects: 'project' };

export const placeOf = ({ kind }: EntityRef) => `${kind}s` as EntityPlace;

/** The text for the address of a new chat. */
export const aboutOf = (entity: EntityRef) => `${entity.space}/${placeOf(entity)}/${entity.id}`;

/** Parses that text; `undefined` if it names nothing. */
export function entityOf(about: string | undefined): EntityRef | undefined {
  const [space, place, ...id] = about?.split('/') ?? [];
  const kind = place !== undefined && place in PLACES ? PLACES[place as EntityPlace] : undefined;
  return space && kind && id.length === 1 && id[0] ? { space, kind, id: id[0] } : undefined;
}
