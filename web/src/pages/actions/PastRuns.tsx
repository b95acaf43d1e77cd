import { useEffect, useState } from 'react';
import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import type { Fault, PastAction, RunStatus } from '@onyx/sdk';
import { Markdown } from '../../markdown/Markdown';
import { faultOf, onyx, watch } from '../../store/client';
import { isOver, useRegistry } from '../../store/registry';
import { useStore } from '../../store/state';
import { Section } from '../../ui/form';
import { Empty, ErrorLine, Skeletons } from '../../ui/page';
import { ago, fullTime, money } from '../../ui/time';
import { STATES } from './states';

const A_FEW = 20;

/** The newest runs, updated with the pages in the vault while they are shown. */
function usePast(most: number) {
  const online = useStore((state) => state.link === 'online');
  // A run of this window writes its page when it ends.
  const over = useRegistry(({ runs }) =>
    runs
      .filter((run) => isOver(run) && !run.dryRun)
      .map((run) => run.key)
      .join(),
  );
  const [past, setPast] = useState<{ runs: PastAction[]; before?: string }>();
  const [fault, setFault] = useState<Fault>();
  useEffect(() => {
    if (!online) return;
    let gone = false;
    const load = () =>
      onyx.actions.past({ limit: most }).then(
        (found) => gone || (setPast(found), setFault(undefined)),
        (error: unknown) => gone || setFault(faultOf(error)),
      );
    void load();
    const stop = watch('memory', () => void load());
    return () => ((gone = true), stop());
  }, [online, most, over]);
  return { past, fault };
}

/** The past runs of actions. Each run wrote a page with its prompt, tools, answer and cost. */
export function PastRuns() {
  const [most, setMost] = useState(A_FEW);
  const { past, fault } = usePast(most);
  return (
    <Section title="Past runs" detail="Each run is recorded on a page in agent/runs of your vault.">
      {fault && <ErrorLine fault={fault} />}
      {!past && !fault && <Skeletons rows={2} />}
      {past?.runs.length === 0 && (
        <div className="card">
          <Empty>No action has run yet.</Empty>
        </div>
      )}
      {past && past.runs.length > 0 && (
        <ul className="card divide-y divide-line">
          {past.runs.map((run) => (
            <li key={run.runId}>
              <Row run={run} />
            </li>
          ))}
        </ul>
      )}
      {past?.before && (
        <button type="button" className="btn mt-2" onClick={() => setMost(Math.min(most + A_FEW, 100))}>
          Show more
        </button>
      )}
    </Section>
  );
}

const statusOf = (run: PastAction) => STATES[(run.record?.status ?? 'interrupted') as RunStatus] ?? STATES.interrupted;

function Row({ run }: { run: PastAction }) {
  const [open, setOpen] = useState(false);
  const [word, color] = statusOf(run);
  const time = run.record?.startedAt;
  return (
    <>
      <button
        type="button"
        className="flex min-h-11 w-full items-center gap-2 px-4 py-2 text-left hover:bg-sunken"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <ChevronRight
          size={14}
          className={`shrink-0 text-dim transition-transform ${open ? 'rotate-90' : ''}`}
          aria-hidden
        />
        <span className="min-w-0 flex-1 truncate" dir="auto">
          {run.record?.label ?? run.page}
        </span>
        <span className={`shrink-0 text-meta ${color}`}>{word}</span>
        {time && (
          <span className="meta shrink-0" title={fullTime(time)}>
            {ago(time)}
          </span>
        )}
      </button>
      {open && <Report run={run} />}
    </>
  );
}

function Report({ run: { record, page } }: { run: PastAction }) {
  const link = 'inline-flex items-center text-accent underline underline-offset-3 max-md:min-h-11';
  return (
    <div className="border-t border-line bg-sunken/40 px-4 py-3">
      <p className="mb-3 flex flex-wrap items-center gap-x-3 text-meta text-dim">
        <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
          {[record?.model, record?.cost ? money(record.cost) : undefined].filter(Boolean).join(' · ')}
        </span>
        {record?.sessionId && (
          <Link to="/chat/$id" params={{ id: record.sessionId }} className={link}>
            Open chat
          </Link>
        )}
        <Link to="/memory" search={{ path: page }} className={link}>
          Open file
        </Link>
      </p>
      {record ? (
        <div dir="auto">
          <Markdown text={record.text} />
        </div>
      ) : (
        <p className="meta">This page can no longer be read.</p>
      )}
    </div>
  );
}
