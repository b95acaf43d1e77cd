// What actions have done: each run leaves a page in the vault, and those pages are the list. Whoever ran it, and from where.

import { useEffect } from 'react';
import { onyx, watch } from './client';
import { RUNS_FOLDER, runOfPage } from './templates';
import { useLoaded, type Loaded } from '../ui/useLoaded';

export interface PastRun {
  runId: string;
  path: string;
  label: string;
}

const PAGE = 1_000;
/** Files tell of themselves in flocks, of which one look is enough. */
const SOON_MS = 300;

/** The newest first. Paths begin with their day, so that all of them stand in one row of the list of files. */
async function pastRuns(): Promise<PastRun[]> {
  const runs: PastRun[] = [];
  for (let after: string | undefined = RUNS_FOLDER; after?.startsWith(RUNS_FOLDER); ) {
    const page = await onyx.memory.files({ types: 'note', after, limit: PAGE });
    for (const { path, title } of page.files) {
      const runId = runOfPage(path);
      if (runId !== undefined) runs.push({ runId, path, label: title });
    }
    after = page.after;
  }
  return runs.reverse();
}

/** All runs, in step with the files as long as somebody looks. */
export function usePastRuns(): Loaded<PastRun[]> {
  const runs = useLoaded('past runs', pastRuns);
  const { reload } = runs;
  useEffect(() => {
    let soon: ReturnType<typeof setTimeout> | undefined;
    const leave = watch('memory', () => {
      clearTimeout(soon);
      soon = setTimeout(reload, SOON_MS);
    });
    return () => (clearTimeout(soon), leave());
  }, [reload]);
  return runs;
}
