// Which actions were run from this browser. Their pages are in the vault; here stands only where.

import type { RunStatus } from '@onyx/sdk';
import { create } from 'zustand';
import { keep, readKept } from './kept';
import { useStore } from './state';

export interface PastRun {
  runId: string;
  sessionId: string;
  action: string;
  label: string;
  state: RunStatus;
}

const MOST = 100;

/** Of each person by themselves: a browser may be shared. */
const keyOf = (person: string) => `onyx.action-runs.${person}`;

const usePast = create<Record<string, PastRun[]>>(() => ({}));

const read = (person: string) => usePast.getState()[person] ?? readKept<PastRun[]>(keyOf(person), []);

export function remember(run: PastRun): void {
  const person = useStore.getState().me?.person;
  if (person === undefined) return;
  const runs = [run, ...read(person)].slice(0, MOST);
  usePast.setState({ [person]: runs });
  keep(keyOf(person), runs);
}

/** The newest first; absent until it is known who asks. */
export function usePastRuns(): PastRun[] | undefined {
  const person = useStore((state) => state.me?.person);
  usePast();
  return person === undefined ? undefined : read(person);
}
