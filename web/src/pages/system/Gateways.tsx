import { useEffect, useState } from 'react';
import type { Gateway } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Confirm } from '../../ui/Modal';
import { ErrorLine } from '../../ui/page';
import { ago, counted, duration, fullTime } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';

const REFRESH_MS = 5_000;
const STATES: Record<Gateway['state'], [string, string]> = {
  serving: ['Serving', 'text-ok-text'],
  silent: ['Not answering', 'text-danger'],
  draining: ['Draining', 'text-warn'],
  drained: ['Drained', 'text-dim'],
};

/** The gateways that share one database. Nothing is shown where there is only one process. */
export function Gateways() {
  const list = useLoaded('gateways', () => onyx.admin.gateways());
  const { reload } = list;
  const several = (list.data?.length ?? 0) > 0;
  useEffect(() => {
    if (!several) return;
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [several, reload]);
  if (!several) return list.fault ? <ErrorLine fault={list.fault} action={{ label: 'Retry', run: reload }} /> : null;
  return (
    <section className="mt-8" aria-labelledby="gateways">
      <h2 id="gateways" className="mb-2 font-semibold">
        Gateways
      </h2>
      <ul className="card divide-y divide-line">
        {list.data?.map((gateway) => (
          <Row key={gateway.id} gateway={gateway} onChange={reload} />
        ))}
      </ul>
      {list.fault && <ErrorLine fault={list.fault} action={{ label: 'Retry', run: reload }} />}
    </section>
  );
}

function Row({ gateway, onChange }: { gateway: Gateway; onChange: () => void }) {
  const [word, color] = STATES[gateway.state];
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-60">
        <p className="[overflow-wrap:anywhere]">
          {gateway.id}
          {gateway.answersYou && <span className="meta"> · answers you now</span>}
        </p>
        <p className="meta [overflow-wrap:anywhere]">{gateway.url}</p>
        <p className="meta">
          {gateway.version && `Onyx ${gateway.version} · `}
          <time dateTime={new Date(gateway.since).toISOString()} title={fullTime(gateway.since)}>
            started {ago(gateway.since)}
          </time>
          {gateway.state !== 'drained' && ` · last heartbeat ${duration(gateway.silentForMs)} ago`}
        </p>
        <p className="meta [overflow-wrap:anywhere]">{work(gateway)}</p>
      </div>
      <span className={`text-meta ${color}`}>{word}</span>
      <Drain gateway={gateway} onChange={onChange} />
    </li>
  );
}

/** The work of one gateway in words. */
function work({ runs, jobs, drafts, connectors, duties }: Gateway): string {
  const parts = [
    runs > 0 && counted(runs, 'answer running', 'answers running'),
    jobs > 0 && counted(jobs, 'job running', 'jobs running'),
    drafts > 0 && counted(drafts, 'change being applied', 'changes being applied'),
    connectors.length > 0 && `Connectors: ${connectors.join(', ')}`,
    ...duties.map(duty),
  ].filter((part) => part !== false);
  return parts.length > 0 ? parts.join(' · ') : 'No work of its own right now';
}

function duty(one: Gateway['duties'][number]): string {
  switch (one.kind) {
    case 'cleans_up':
      return 'Cleans up for all gateways';
    case 'awaits_sign_in':
      return `Waits for the sign-in ${one.of}`;
    case 'renews_sign_in':
      return `Renews the sign-in ${one.of}`;
    case 'imports_source':
      return 'Imports a source';
    case 'reads_facts':
      return 'Reads texts for facts';
    case 'makes_vectors':
      return 'Makes texts searchable by meaning';
    case 'other':
      return one.name;
  }
}

function Drain({ gateway, onChange }: { gateway: Gateway; onChange: () => void }) {
  const [asked, setAsked] = useState(false);
  if (gateway.state === 'draining' || gateway.state === 'drained') return null;
  const silent = gateway.state === 'silent';
  const [action, done] = silent ? ['Remove', 'Removed'] : ['Drain', 'Draining'];
  const drain = async () => {
    const drained = await attempt(silent ? 'Not removed' : 'Not drained', async () => {
      await onyx.admin.drainGateway(gateway.id);
      return true;
    });
    if (drained) toast(`${done} ${gateway.id}`);
    onChange();
  };
  return (
    <>
      <button type="button" className="btn" onClick={() => setAsked(true)} aria-label={`${action} ${gateway.id}`}>
        {action}
      </button>
      {asked && (
        <Confirm
          question={silent ? `Remove ${gateway.id} from the list?` : `Drain ${gateway.id}?`}
          detail={
            silent
              ? 'It does not answer. It returns to the list when it starts again.'
              : 'It accepts no new work. Running answers get 5 seconds; other gateways take the rest. Restart it to use it again.'
          }
          action={action}
          onAnswer={(yes) => {
            setAsked(false);
            if (yes) void drain();
          }}
        />
      )}
    </>
  );
}
