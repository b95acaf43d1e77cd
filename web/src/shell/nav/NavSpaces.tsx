import { Link } from '@tanstack/react-router';
import { useSpaceList } from '../../store/spaces';

const MOST = 6;

/** The spaces in the main navigation. */
export function NavSpaces() {
  const { list: spaces } = useSpaceList();
  return (
    <div className="flex flex-col gap-0.5 max-xl:hidden">
      {spaces?.slice(0, MOST).map((space) => (
        <Link
          key={space.id}
          to="/spaces/$space"
          params={{ space: space.id }}
          className="nav-item"
          activeOptions={{ exact: false }}
          activeProps={{ 'aria-current': 'page' }}
          title={space.name}
        >
          <span className="truncate">{space.name}</span>
        </Link>
      ))}
    </div>
  );
}
