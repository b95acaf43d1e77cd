// The text of a tool step: the server sends a verb for each state, and the state selects one. Pure.

import type { Draft, DraftState } from '@onyx/sdk';
import type { ToolStep } from '../store/messages';

export interface Described {
  verb: string;
  what: string;
}

/** The state of a step as people see it. Once its draft is decided, the draft is newer than the log. */
export type StepState = 'wants' | 'doing' | 'did' | 'refused' | 'failed' | 'tried';

const OF_DRAFT: Record<DraftState, StepState> = {
  pending: 'wants',
  stale: 'wants',
  applying: 'doing',
  applied: 'did',
  failed: 'failed',
  unknown: 'failed',
  rejected: 'refused',
  superseded: 'wants',
  expired: 'wants',
};

export function stateOf({ report, ok }: ToolStep, draft?: Pick<Draft, 'state'>): StepState {
  if (draft && (report === undefined || report.state === 'waiting')) return OF_DRAFT[draft.state];
  if (!report) return ok === undefined ? 'doing' : ok ? 'did' : 'failed';
  switch (report.state) {
    case 'done':
      return 'did';
    case 'waiting':
      return 'wants';
    case 'rehearsed':
      return 'tried';
    default:
      return report.state;
  }
}

/** What a step does or did, verb first. */
export function describe({ label }: ToolStep, state: StepState): Described {
  // A command is shown as in a terminal.
  if (label.target?.kind === 'command' && (state === 'doing' || state === 'did'))
    return { verb: '$', what: label.target.name };
  return { verb: state === 'tried' ? label.verb.plain : label.verb[state], what: label.subject };
}

/** The number of lines that a step changes, if known. */
export const changedLines = ({ label, report }: ToolStep) => report?.lines ?? label.change;

/** Whether undoing the run may revert this effect. */
export const changes = (effect: Draft['effect'] | null) =>
  effect === 'write' || effect === 'destroy' || effect === 'execute';
