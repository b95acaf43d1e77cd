import type { EntityKind, EntityPlace } from '@onyx/sdk';

export interface PlaceOf {
  place: EntityPlace;
  kind: EntityKind;
  title: string;
  /** What is said where there is none yet. */
  none: string;
}

export const PLACES: PlaceOf[] = [
  { place: 'pages', kind: 'page', title: 'Pages', none: 'Nothing is written here yet.' },
  { place: 'tasks', kind: 'task', title: 'Tasks', none: 'There is nothing to do here yet.' },
  {
    place: 'refs',
    kind: 'ref',
    title: 'Refs',
    none: 'Nothing is captured yet. Paste a link or a text above, or drop a file.',
  },
  { place: 'projects', kind: 'project', title: 'Projects', none: 'There are no projects here yet.' },
];

export const placeNamed = (name: string | undefined) => PLACES.find((one) => one.place === name);
