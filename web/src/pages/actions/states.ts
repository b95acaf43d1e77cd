import type { ActionRun } from '../../store/registry';

/** The word and the colour for each state of a run. */
export const STATES: Record<ActionRun['state'], [string, string]> = {
  starting: ['starting', 'text-dim'],
  running: ['running', 'text-accent'],
  done: ['done', 'text-ok-text'],
  cancelled: ['stopped', 'text-dim'],
  error: ['failed', 'text-danger'],
  interrupted: ['interrupted', 'text-warn'],
  awaiting_client: ['waiting', 'text-warn'],
};
