import { Link } from '@tanstack/react-router';
import { useStore } from '../../store/state';
import { hueOf } from '../../ui/hue';

const MOST = 6;

/** The agents in the main navigation. */
export function NavAgents() {
  const agents = useStore((state) => state.status?.agents);
  return (
    <div className="flex flex-col gap-0.5 max-xl:hidden">
      {agents?.slice(0, MOST).map((agent) => (
        <Link
          key={agent.id}
          to="/agents/$id/$tab"
          params={{ id: agent.id, tab: 'overview' }}
          className="nav-item"
          activeOptions={{ exact: false }}
          activeProps={{ 'aria-current': 'page' }}
        >
          <span className="hue" style={{ background: hueOf(agent.id) }} aria-hidden />
          <span className="truncate">{agent.name}</span>
        </Link>
      ))}
    </div>
  );
}
