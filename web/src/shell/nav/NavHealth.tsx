import { Link } from '@tanstack/react-router';
import { PAGES } from '../../pages/pages';
import { useStore, type State } from '../../store/state';

/** The words and the color of each state. */
const STATES = {
  offline: ['Not connected', 'var(--danger)'],
  connecting: ['Connecting', 'var(--line)'],
  unknown: ['Status unknown', 'var(--warn)'],
  checking: ['Checking', 'var(--line)'],
  down: ['Something is down', 'var(--danger)'],
  degraded: ['Needs attention', 'var(--warn)'],
  ok: ['All systems OK', 'var(--ok)'],
} as const;

/** The state of the connection or, while there is one, of the worst dependency. */
function healthOf({ link, status, statusFault }: State): keyof typeof STATES {
  if (link === 'offline') return 'offline';
  if (link !== 'online') return 'connecting';
  if (statusFault) return 'unknown';
  if (!status) return 'checking';
  const states = status.dependencies.map((dependency) => dependency.state);
  if (states.includes('down')) return 'down';
  return states.includes('degraded') ? 'degraded' : 'ok';
}

/** The link to the system page, which says how the system is. */
export function NavHealth() {
  const [text, color] = STATES[useStore(healthOf)];
  return (
    <Link
      to={PAGES.system.path}
      className="nav-item max-xl:justify-center max-xl:px-0"
      activeProps={{ 'aria-current': 'page' }}
      aria-label={`System: ${text}`}
      title={text}
    >
      <span className="dot" style={{ background: color }} aria-hidden />
      <span className="truncate max-xl:hidden">{text}</span>
    </Link>
  );
}
