// The person's jobs: one list for the page, the Inbox and the badges.

import type { Fault, Job } from '@onyx/sdk';
import { create } from 'zustand';
import { faultOf, onyx, watch } from './client';
import { useStore } from './state';

interface JobList {
  phase: 'loading' | 'ready' | 'failed';
  jobs: Job[];
  fault?: Fault;
}

export const useJobs = create<JobList>(() => ({ phase: 'loading', jobs: [] }));

export async function refreshJobs(): Promise<void> {
  try {
    useJobs.setState({ phase: 'ready', jobs: await onyx.jobs.list(), fault: undefined });
  } catch (error) {
    const fault = faultOf(error);
    // A lost connection is shown elsewhere; the known jobs stay.
    if (fault.code === 'offline') return;
    useJobs.setState((state) => ({ phase: state.phase === 'ready' ? 'ready' : 'failed', fault }));
  }
}

let soon: ReturnType<typeof setTimeout> | undefined;

/** Several changes in a row cause one refresh. */
function lookSoon(): void {
  clearTimeout(soon);
  soon = setTimeout(() => void refreshJobs(), 150);
}

/** Watches the runs of jobs and changes of their files. */
export function startWatchingJobs(): void {
  watch('jobs', lookSoon);
  watch('memory', lookSoon);
  useStore.subscribe((state, before) => {
    if (state.link === 'online' && before.link !== 'online') lookSoon();
  });
}
