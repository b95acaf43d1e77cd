import { useState } from 'react';
import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import { Markdown } from '../../markdown/Markdown';
import { onyx } from '../../store/client';
import { usePastRuns, type PastRun } from '../../store/past-runs';
import { artifactOf, frontOf, promptOf, startOf } from '../../store/templates';
import { Section } from '../../ui/form';
import { Empty, Shown } from '../../ui/page';
import { ago, fullTime, money } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import { STATES } from './states';

const A_FEW = 20;

/** Every run of an action leaves a page: what it was told, what it used, what it said and cost. */
export function PastRuns() {
  const runs = usePastRuns() ?? [];
  const [most, setMost] = useState(A_FEW);
  return (
    <Section
      title="Past runs"
      detail="Those you began in this browser. Each leaves a page in agent/runs of your vault."
    >
      {runs.length === 0 ? (
        <div className="card">
          <Empty>No action has run yet.</Empty>
        </div>
      ) : (
        <ul className="card divide-y divide-line">
          {runs.slice(0, most).map((run) => (
            <li key={run.runId}>
              <Row run={run} />
            </li>
          ))}
        </ul>
      )}
      {runs.length > most && (
        <button type="button" className="btn mt-2" onClick={() => setMost(most + A_FEW)}>
          Show more
        </button>
      )}
    </Section>
  );
}

function Row({ run }: { run: PastRun }) {
  const [open, setOpen] = useState(false);
  const [word, color] = STATES[run.state];
  const time = startOf(run.runId).getTime();
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
          {run.label}
        </span>
        <span className={`shrink-0 text-meta ${color}`}>{word}</span>
        <span className="meta shrink-0" title={fullTime(time)}>
          {ago(time)}
        </span>
      </button>
      {open && <Report run={run} />}
    </>
  );
}

function Report({ run: { runId, sessionId } }: { run: PastRun }) {
  const path = artifactOf(runId);
  const page = useLoaded(`report ${path}`, () => onyx.memory.read(path));
  const link = 'inline-flex items-center text-accent underline underline-offset-3 max-md:min-h-11';
  return (
    <div className="border-t border-line bg-sunken/40 px-4 py-3">
      <Shown of={page} rows={1} height="h-24">
        {({ text }) => {
          const { model, cost } = frontOf(text);
          const price = Number(cost) > 0 ? money(Number(cost)) : undefined;
          return (
            <>
              <p className="mb-3 flex flex-wrap items-center gap-x-3 text-meta text-dim">
                <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
                  {[model, price].filter(Boolean).join(' · ')}
                </span>
                <Link to="/chat/$id" params={{ id: sessionId }} className={link}>
                  Open chat
                </Link>
                <Link to="/memory" search={{ path }} className={link}>
                  Open file
                </Link>
              </p>
              <div dir="auto">
                <Markdown text={promptOf(text).replace(/^# .*\n/, '')} />
              </div>
            </>
          );
        }}
      </Shown>
    </div>
  );
}
