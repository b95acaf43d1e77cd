import { useState } from 'react';
import { Link } from '@tanstack/react-router';
import type { Job, JobRun } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Empty, Shown } from '../../ui/page';
import { money } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import { OUTCOMES, timeIn } from './JobCard';

const TONES: Partial<Record<JobRun['outcome'], string>> = {
  done: 'text-ok',
  failed: 'text-danger',
  interrupted: 'text-danger',
  missed: 'text-warn',
};

/** The history of a job's slots, newest first. */
export function Runs({ job }: { job: Job }) {
  const key = `${job.id} ${job.last?.scheduledAt} ${job.last?.outcome}`;
  const first = useLoaded(key, () => onyx.jobs.runs(job.id, { limit: 20 }));
  const [older, setOlder] = useState<{ runs: JobRun[]; before?: string | null }>();
  return (
    <div className="border-t border-line px-4 py-2">
      <Shown of={first} rows={2} height="h-8">
        {({ runs, before }) => {
          const all = [...runs, ...(older?.runs ?? [])];
          const cursor = older ? older.before : before;
          const more = async () => {
            const page = await attempt('Older runs could not be loaded', () =>
              onyx.jobs.runs(job.id, { before: cursor ?? undefined }),
            );
            if (page) setOlder({ runs: [...(older?.runs ?? []), ...page.runs], before: page.before });
          };
          if (all.length === 0) return <Empty>No runs yet.</Empty>;
          return (
            <>
              <ol className="flex flex-col divide-y divide-line">
                {all.map((run) => (
                  <Row key={run.scheduledAt} run={run} zone={job.timezone} />
                ))}
              </ol>
              {cursor && (
                <button type="button" className="btn my-2" onClick={() => void more()}>
                  Show older
                </button>
              )}
            </>
          );
        }}
      </Shown>
    </div>
  );
}

function Row({ run, zone }: { run: JobRun; zone: string }) {
  return (
    <li className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 py-2 text-meta">
      <span className="text-dim tabular-nums">{timeIn(run.scheduledAt, zone)}</span>
      <span className={TONES[run.outcome] ?? ''}>
        {OUTCOMES[run.outcome]}
        {run.count > 1 && ` (${run.count} times)`}
      </span>
      <span className="min-w-0 flex-1 basis-48 [overflow-wrap:anywhere] whitespace-pre-line text-dim">{run.text}</span>
      {run.cost ? <span className="tabular-nums">{money(run.cost)}</span> : null}
      {run.sessionId && (
        <Link to="/chat/$id" params={{ id: run.sessionId }} className="text-accent underline underline-offset-3">
          Open
        </Link>
      )}
    </li>
  );
}
