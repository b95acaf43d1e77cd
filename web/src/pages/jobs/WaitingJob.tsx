import type { Job } from '@onyx/sdk';
import { Diff } from '../../chat/Diff';
import { onyx } from '../../store/client';
import { refreshJobs } from '../../store/jobs';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { timeIn } from './JobCard';

/** A job that was written or changed outside the app. It does not run until the person accepts it. */
export function WaitingJob({ job }: { job: Job }) {
  const accept = async () => {
    if (!(await attempt('Not accepted', () => onyx.jobs.accept(job.id, job.hash)))) return;
    toast(`${job.id} accepted`);
    await refreshJobs();
  };
  return (
    <article className="card" aria-label={`Job ${job.id}`}>
      <div className="flex flex-wrap items-center gap-3 p-4">
        <div className="min-w-0 flex-1 basis-60 [overflow-wrap:anywhere]">
          <h3 className="font-semibold">Job {job.id} was written or changed</h3>
          <p className="meta">It does not run until you accept it. {job.words}</p>
          {job.next[0] && <p className="meta">Next: {timeIn(job.next[0], job.timezone)}</p>}
        </div>
        <button type="button" className="btn btn-primary" onClick={() => void accept()}>
          Accept
        </button>
      </div>
      {job.diff && <Diff lines={job.diffLines ?? []} label={`Change to the job ${job.id}`} />}
    </article>
  );
}
