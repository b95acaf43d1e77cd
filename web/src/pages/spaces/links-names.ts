// What a link between pages means, by its words. Pure.

import type { EntityPlace } from '@onyx/sdk';

export interface Target {
  place: EntityPlace;
  id: string;
  title: string;
  kind: string;
}

/** As the server makes ids from titles. */
const slug = (text: string) =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .join('-');

/** What a link means: by its title, or by the id that a former title made. */
export function targetNamed(targets: Target[], title: string): Target | undefined {
  const wanted = slug(title);
  return targets.find((target) => slug(target.title) === wanted) ?? targets.find((target) => target.id === wanted);
}
