import { Link } from '@tanstack/react-router';
import { useLoaded } from '../../ui/useLoaded';
import { backlinksOf } from './links';
import type { PlaceOf } from './places';
import { useChanges } from './useEntities';

/** The entities that link to this one; hidden if there are none. */
export function Backlinks({ space, place, id }: { space: string; place: PlaceOf; id: string }) {
  const links = useLoaded(`backlinks ${space} ${place.place} ${id}`, () =>
    backlinksOf(space, { place: place.place, id }),
  );
  useChanges(links.reload);
  if (!links.data || links.data.length === 0) return null;
  return (
    <nav aria-label="Linked from" className="border-t border-line py-3">
      <h2 className="meta font-semibold">Linked from</h2>
      <ul className="mt-1 flex flex-wrap gap-x-4">
        {links.data.map(({ place: from, entity }) => (
          <li key={`${from}/${entity.id}`}>
            <Link
              to="/spaces/$space/$place/$entity"
              params={{ space, place: from, entity: entity.id }}
              className="inline-flex items-center text-accent underline underline-offset-3 [overflow-wrap:anywhere] max-md:min-h-11"
            >
              {entity.title}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
