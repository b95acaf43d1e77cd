import { useEffect } from 'react';
import { Link } from '@tanstack/react-router';
import { RotateCw } from 'lucide-react';
import type { Dependency } from '@onyx/sdk';
import { refreshStatus } from '../../store/client';
import { useStore } from '../../store/state';
import { copy } from '../../ui/copy';
import { ErrorLine } from '../../ui/page';
import { Words } from '../../ui/words';
import { kindOf } from './dependencies';
import { Gateways } from './Gateways';

const REFRESH_MS = 15_000;
const WORDS: Record<Dependency['state'], [string, string]> = {
  off: ['Not set up', 'text-dim'],
  ok: ['OK', 'text-ok-text'],
  degraded: ['Needs attention', 'text-warn'],
  down: ['Down', 'text-danger'],
};

/** The health of everything that Onyx depends on. */
export function Health() {
  const status = useStore((state) => state.status);
  const fault = useStore((state) => state.statusFault);
  const link = useStore((state) => state.link);
  const owner = useStore((state) => state.me?.role !== 'member');
  useEffect(() => {
    void refreshStatus();
    const timer = setInterval(() => void refreshStatus(), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <ul className="card divide-y divide-line" aria-busy={!status && !fault}>
        <Row
          label="Connection"
          state={link === 'online' ? 'ok' : 'down'}
          detail={link === 'online' ? undefined : 'Reconnecting'}
        />
        {status?.dependencies.map((dependency) => (
          <Row key={dependency.name} {...dependency} {...kindOf(dependency)} />
        ))}
        {!status && !fault && [1, 2, 3].map((row) => <li key={row} className="skeleton m-3 h-6" />)}
      </ul>
      {fault && <ErrorLine fault={fault} action={{ label: 'Check again', run: () => void refreshStatus() }} />}
      {status && (
        <p className="meta mt-4 flex flex-wrap items-center gap-x-4 gap-y-1">
          <span>Onyx {status.version}</span>
          <span>{status.runs.length === 0 ? 'No active runs' : `${status.runs.length} running`}</span>
          <span>
            {status.agents.length} {status.agents.length === 1 ? 'agent' : 'agents'}
          </span>
          <button
            type="button"
            className="underline underline-offset-3"
            onClick={() => void copy(JSON.stringify(status, null, 2), 'Details copied')}
          >
            Copy details
          </button>
          <button
            type="button"
            className="inline-flex items-center gap-1 underline underline-offset-3"
            onClick={() => void refreshStatus()}
          >
            <RotateCw size={13} aria-hidden /> Check again
          </button>
        </p>
      )}
      {owner && <Gateways />}
    </>
  );
}

interface RowProps extends Pick<Dependency, 'state' | 'detail' | 'hint' | 'progress'> {
  label: string;
  to?: string;
  action?: string;
}

function Row({ label, to, action, state, detail, hint, progress }: RowProps) {
  const [word, color] = WORDS[state];
  // Only the owner can change the setup.
  const owner = useStore((store) => store.me?.role !== 'member');
  return (
    <li className="flex min-h-12 items-center gap-4 px-4 py-2.5">
      <span className="min-w-0 flex-1">
        <span>{label}</span>
        {detail && (
          <span className="block text-meta text-dim [overflow-wrap:anywhere]">
            <Words>{detail}</Words>
          </span>
        )}
        {progress && (
          <progress
            className="block h-1.5 w-full max-w-60 accent-(--accent)"
            aria-label={`${label}: ${progress.done} of ${progress.total}`}
            value={progress.done}
            max={progress.total}
          />
        )}
        {hint && (
          <span className="block text-meta [overflow-wrap:anywhere]">
            <Words>{hint}</Words>
          </span>
        )}
      </span>
      {state !== 'ok' && to && owner && (
        <Link to={to} className="shrink-0 text-meta text-accent underline underline-offset-3">
          {action}
        </Link>
      )}
      <span className={`text-meta ${color}`}>{word}</span>
    </li>
  );
}
