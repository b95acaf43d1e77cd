import { useJobs } from '../store/jobs';
import { useStore } from '../store/state';

/** The number of decisions that wait for this person. */
export function useWaiting(): number {
  const jobs = useJobs((state) => state.jobs.filter((job) => job.state === 'waiting').length);
  return useStore(
    (state) =>
      Object.values(state.drafts).filter((draft) => draft.state === 'pending' && !state.verdicts[draft.id]).length +
      jobs,
  );
}
