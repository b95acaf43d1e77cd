// What a chat is about: a page, task, ref or project, as addresses name it.

import type { EntityKind, EntityPlace, EntityRef } from '@onyx/sdk';

const PLACES: Record<EntityPlace, EntityKind> = { pages: 'page', tasks: 'task', refs: 'ref', projects: 'project' };

export const placeOf = ({ kind }: EntityRef) => `${kind}s` as EntityPlace;

/** As a new chat's address carries it. */
export const aboutOf = (entity: EntityRef) => `${entity.space}/${placeOf(entity)}/${entity.id}`;

/** The other way round; nothing where the text names none. */
export function entityOf(about: string | undefined): EntityRef | undefined {
  const [space, place, ...id] = about?.split('/') ?? [];
  const kind = place !== undefined && place in PLACES ? PLACES[place as EntityPlace] : undefined;
  return space && kind && id.length === 1 && id[0] ? { space, kind, id: id[0] } : undefined;
}
