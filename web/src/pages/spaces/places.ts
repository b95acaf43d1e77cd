import type { EntityKind, EntityPlace } from '@onyx/sdk';

export interface PlaceOf {
  place: EntityPlace;
  kind: EntityKind;
  title: string;
  /** The text of the empty state. */
  none: string;
}

export const PLACES: PlaceOf[] = [
  { place: 'pages', kind: 'page', title: 'Pages', none: 'Nothing written yet.' },
  { place: 'tasks', kind: 'task', title: 'Tasks', none: 'No tasks yet.' },
  {
    place: 'refs',
    kind: 'ref',
    title: 'Refs',
    none: 'Nothing captured yet. Paste a link or text above, or drop a file.',
  },
  { place: 'projects', kind: 'project', title: 'Projects', none: 'No projects yet.' },
];

export const placeNamed = (name: string | undefined) => PLACES.find((one) => one.place === name);
