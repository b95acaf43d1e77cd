import { useJobs } from '../store/jobs';
import { useStore } from '../store/state';

/** How much waits for this person to decide. */
export function useWaiting(): number {
  const jobs = useJobs((state) => state.jobs.filter((job) => job.state === 'waiting').length);
  return useStore(
    (state) =>
      Object.values(state.drafts).filter((draft) => draft.state === 'pending' && !state.verdicts[draft.id]).length +
      jobs,
  );
}
