import { useState } from 'react';
import { Link } from '@tanstack/react-router';
import { MoreHorizontal, Play } from 'lucide-react';
import type { Job } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { refreshJobs } from '../../store/jobs';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Menu } from '../../ui/Menu';
import { Confirm } from '../../ui/Modal';
import { ago, money } from '../../ui/time';
import { Runs } from './Runs';

const STATES: Record<Job['state'], [string, string]> = {
  active: ['Active', 'text-ok'],
  paused: ['Paused', 'text-warn'],
  disabled: ['Disabled', 'text-dim'],
  waiting: ['Waiting for you', 'text-warn'],
  broken: ['Needs fixing', 'text-danger'],
  finished: ['Finished', 'text-dim'],
};

export const OUTCOMES: Record<NonNullable<Job['last']>['outcome'], string> = {
  queued: 'Waiting to start',
  running: 'Running',
  done: 'Done',
  nothing: 'Nothing to report',
  failed: 'Failed',
  interrupted: 'Interrupted',
  replaced: 'Replaced by the next run',
  skipped: 'Skipped',
  missed: 'Missed',
};

/** A time in the job's time zone. */
export const timeIn = (time: string, timeZone: string) =>
  new Date(time).toLocaleString(undefined, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: timeZone || undefined,
  });

export function JobCard({ job, onEdit }: { job: Job; onEdit: () => void }) {
  const [open, setOpen] = useState(false);
  const [state, tone] = STATES[job.state];
  const toggle = () => {
    setOpen(!open);
    if (job.troubles > 0) void attempt('Not marked', () => onyx.jobs.seen(job.id)).then(() => refreshJobs());
  };
  return (
    <article className="card" aria-label={job.id}>
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2 p-4">
        <div className="min-w-0 flex-1 basis-64 [overflow-wrap:anywhere]">
          <h3 className="flex flex-wrap items-center gap-2">
            <span className="font-semibold">{job.id}</span>
            <span className={`text-meta ${tone}`}>{state}</span>
            {job.troubles > 0 && (
              <span className="chip text-danger">
                {job.troubles} new {job.troubles === 1 ? 'problem' : 'problems'}
              </span>
            )}
          </h3>
          <p className="meta">{job.error ? <Flaw job={job} /> : job.words}</p>
          {job.reason && <p className="meta text-warn">{job.reason}</p>}
          {job.warnings.map((warning) => (
            <p key={warning} className="meta">
              {warning}
            </p>
          ))}
        </div>
        <Buttons job={job} onEdit={onEdit} />
      </div>
      {job.next.length > 0 && job.state !== 'paused' && (
        <ol className="flex flex-wrap gap-x-4 gap-y-1 border-t border-line px-4 py-2 text-meta" aria-label="Next runs">
          {job.next.map((time) => (
            <li key={time} className="tabular-nums text-dim">
              {timeIn(time, job.timezone)}
            </li>
          ))}
        </ol>
      )}
      <div className="flex flex-wrap items-center gap-3 border-t border-line px-4 py-2 text-meta">
        <span className="min-w-0 flex-1 truncate">{job.last ? <Last job={job} /> : 'Not run yet.'}</span>
        <button
          type="button"
          className="text-accent underline underline-offset-3"
          aria-expanded={open}
          onClick={toggle}
        >
          {open ? 'Hide history' : 'History'}
        </button>
      </div>
      {open && <Runs job={job} />}
    </article>
  );
}

function Flaw({ job }: { job: Job }) {
  return (
    <span className="text-danger">
      {job.error?.field}: {job.error?.message} {job.error?.example && <span>For example: {job.error.example}</span>}
    </span>
  );
}

function Last({ job }: { job: Job }) {
  const { last } = job;
  if (!last) return null;
  const cost = last.cost ? `, ${money(last.cost)}` : '';
  const text = `${OUTCOMES[last.outcome]} ${ago(last.endedAt ?? last.scheduledAt)}${cost}`;
  if (!last.sessionId) return <>{text}</>;
  return (
    <Link to="/chat/$id" params={{ id: last.sessionId }} className="underline underline-offset-3">
      {text}
    </Link>
  );
}

function Buttons({ job, onEdit }: { job: Job; onEdit: () => void }) {
  const [removing, setRemoving] = useState(false);
  const act = async (failed: string, said: string, work: () => Promise<unknown>) => {
    if ((await attempt(failed, async () => (await work(), true))) === undefined) return;
    toast(said);
    await refreshJobs();
  };
  const isFile = job.kind === 'file';
  const canRun = job.state !== 'waiting' && job.state !== 'broken';
  const items = [
    ...(job.state === 'paused'
      ? [{ label: 'Resume', run: () => void act('Not resumed', 'Resumed', () => onyx.jobs.resume(job.id)) }]
      : [{ label: 'Pause', run: () => void act('Not paused', 'Paused', () => onyx.jobs.pause(job.id)) }]),
    ...(isFile ? [{ label: 'Remove', run: () => setRemoving(true) }] : []),
  ];
  return (
    <div className="flex items-center gap-2">
      {canRun && (
        <button
          type="button"
          className="btn"
          onClick={() => void act('Not started', 'Started', () => onyx.jobs.run(job.id))}
        >
          <Play size={14} aria-hidden /> Run now
        </button>
      )}
      {isFile && (
        <button type="button" className="btn" onClick={onEdit}>
          Edit
        </button>
      )}
      <Menu label={`More for ${job.id}`} className="icon-btn" entries={items}>
        <MoreHorizontal size={16} aria-hidden />
      </Menu>
      {removing && (
        <Confirm
          question={`Remove ${job.id}?`}
          detail="Its history is deleted too. The last version of its file is kept."
          action="Remove"
          onAnswer={(yes) => {
            setRemoving(false);
            if (yes) void act('Not removed', 'Removed', () => onyx.jobs.remove(job.id));
          }}
        />
      )}
    </div>
  );
}
