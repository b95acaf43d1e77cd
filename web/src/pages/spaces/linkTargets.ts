// Resolves the text of a link between pages. Pure.

import type { EntityPlace } from '@onyx/sdk';

export interface LinkTarget {
  place: EntityPlace;
  id: string;
  title: string;
  kind: string;
}

/** The id for a title, made as the server makes it. */
const slug = (text: string) =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .join('-');

/** The target of a link: by title, or by the id of a former title. */
export function targetNamed(targets: LinkTarget[], title: string): LinkTarget | undefined {
  const wanted = slug(title);
  return targets.find((target) => slug(target.title) === wanted) ?? targets.find((target) => target.id === wanted);
}
