// The person's actions: the one list for chips, palette entries and buttons, and the one way to run an action.
// Runs belong to the window and not to a page: leaving a page stops none of them.

import { useEffect } from 'react';
import type { Action, ActionRequest, Fault, RunStatus } from '@onyx/sdk';
import { create } from 'zustand';
import { followHttpRun, settleHttpRun } from './httpRuns';
import { faultOf, onyx, watch } from './client';
import { fromTurns } from './loggedMessages';
import type { Message } from './messages';
import { toast, useStore } from './state';

/** The folder of action files in the vault; it cannot be changed. */
export const ACTIONS_FOLDER = 'agent/actions';

/** One run that this window started. */
export interface ActionRun {
  key: string;
  action: string;
  dryRun: boolean;
  state: 'starting' | 'running' | RunStatus;
  sessionId?: string;
  runId?: string;
  /** The page that the run wrote, once it is finished. */
  page?: string;
  fault?: Fault;
  /** The messages of a dry run, which outlive its session. */
  log?: Message[];
}

/** The place from which an action is run. */
export interface Place {
  sessionId?: string;
  /** The text that the person selected or typed there. */
  selection?: string;
  /** Called with the session of the run. */
  onStarted?: (sessionId: string) => void;
}

/** An action that waits for confirmation or input. */
export interface Asking {
  action: Action;
  place: Place;
  /** Opened for a preview: the dry run starts at once. */
  preview: boolean;
}

interface Registry {
  phase: 'loading' | 'ready' | 'failed';
  actions: Action[];
  fault?: Fault;
  asking?: Asking;
  /** The newest first. */
  runs: ActionRun[];
}

export const useRegistry = create<Registry>(() => ({ phase: 'loading', actions: [], runs: [] }));

const { getState, setState } = useRegistry;

export async function refreshActions(): Promise<void> {
  try {
    setState({ actions: await onyx.actions.list(), phase: 'ready', fault: undefined });
  } catch (error) {
    const fault = faultOf(error);
    // A lost connection is shown elsewhere, and the list is loaded when it is back.
    if (fault.code !== 'offline') setState((state) => ({ phase: state.phase === 'ready' ? 'ready' : 'failed', fault }));
  }
}

/** The list of actions, updated with the files while it is shown. */
export function useActions(): Pick<Registry, 'phase' | 'actions' | 'fault'> {
  const online = useStore((state) => state.link === 'online');
  useEffect(() => {
    if (!online) return;
    void refreshActions();
    return watch('memory', () => void refreshActions());
  }, [online]);
  return useRegistry();
}

/** Runs an action, or opens its dialog first if it needs confirmation or input. */
export async function chooseAction(action: Action, place: Place = {}): Promise<void> {
  if (action.error) return toast(`${action.label} cannot run: ${action.error}`, { tone: 'danger' });
  const lacks = action.asksForSelection && !place.selection;
  if (action.requiresConfirmation || lacks) return setState({ asking: { action, place, preview: false } });
  await runAction(action, place, { selection: place.selection });
}

export const previewAction = (action: Action, place: Place = {}) =>
  setState({ asking: { action, place, preview: true } });

export const leaveAsking = () => setState({ asking: undefined });

export const runOf = (registry: Registry, action: string, kind: 'real' | 'dry') =>
  registry.runs.find((run) => run.action === action && run.dryRun === (kind === 'dry'));

export const isOver = (run: ActionRun) => run.state !== 'starting' && run.state !== 'running';

export const forgetRun = (key: string) => setState((state) => ({ runs: state.runs.filter((run) => run.key !== key) }));

export async function runAction(
  action: Action,
  place: Place,
  request: Omit<ActionRequest, 'sessionId'>,
): Promise<void> {
  const key = crypto.randomUUID();
  const dryRun = request.dryRun === true;
  const begun: ActionRun = { key, action: action.id, dryRun, state: 'starting' };
  const kept = getState().runs.filter((run) => !(run.action === action.id && run.dryRun === dryRun && isOver(run)));
  setState({ runs: [begun, ...kept] });
  const change = (news: Partial<ActionRun>) =>
    setState((state) => ({ runs: state.runs.map((run) => (run.key === key ? { ...run, ...news } : run)) }));
  try {
    for await (const line of onyx.actions.run(action.id, {
      ...request,
      sessionId: dryRun ? undefined : place.sessionId,
    })) {
      if (line.type === 'start') {
        change({ state: 'running', sessionId: line.sessionId, runId: line.runId, page: line.action?.page });
        followHttpRun(line.sessionId, line.runId);
        place.onStarted?.(line.sessionId);
      }
      if (line.type === 'error') change({ fault: line });
      if (line.type === 'done') {
        if (dryRun) {
          change({ state: line.status, log: await rehearsalOf(line.sessionId) });
          continue;
        }
        await settleHttpRun(line.sessionId, line.runId);
        change({ state: line.status });
      }
    }
  } catch (error) {
    const fault = faultOf(error);
    // The file was changed to require confirmation after the list was loaded.
    if (fault.code === 'confirmation_required') {
      forgetRun(key);
      await refreshActions();
      return chooseAction({ ...action, requiresConfirmation: true }, place);
    }
    change({ state: 'error', fault });
    if (!dryRun) toast(`${action.label} did not run. ${fault.message} ${fault.hint}`.trim(), { tone: 'danger' });
  }
}

/** Keeps the messages of a dry run in this window and deletes its session. */
async function rehearsalOf(sessionId: string): Promise<Message[]> {
  const { turns } = await onyx.sessions.turns(sessionId);
  await onyx.sessions.remove(sessionId).catch(() => undefined);
  return fromTurns(turns);
}
