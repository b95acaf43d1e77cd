// How a step reads: its words come with it, and its state chooses among them. Pure.

import type { Draft, DraftState } from '@onyx/sdk';
import type { ToolStep } from '../store/messages';

export interface Described {
  verb: string;
  what: string;
}

/** How far a step is, as people see it; a draft of it knows better than the log once somebody has decided. */
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
  // A command reads as it would in a terminal, whatever became of it.
  if (label.target?.kind === 'command' && (state === 'doing' || state === 'did'))
    return { verb: '$', what: label.target.name };
  return { verb: state === 'tried' ? label.verb.plain : label.verb[state], what: label.subject };
}

/** Lines that a step changes, where that is known. */
export const changedLines = ({ label, report }: ToolStep) => report?.lines ?? label.change;

/** What undoing a run may take back. */
export const changes = (effect: Draft['effect'] | null) =>
  effect === 'write' || effect === 'destroy' || effect === 'execute';
