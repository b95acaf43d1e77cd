import type { ActionRun } from '../../store/registry';

/** How a run is, in a word and its colour. */
export const STATES: Record<ActionRun['state'], [string, string]> = {
  starting: ['begins', 'text-dim'],
  running: ['at work', 'text-accent'],
  done: ['done', 'text-ok-text'],
  cancelled: ['stopped', 'text-dim'],
  error: ['failed', 'text-danger'],
  interrupted: ['interrupted', 'text-warn'],
  awaiting_client: ['waits', 'text-warn'],
};
