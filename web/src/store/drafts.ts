// Drafts and confirmations: one of each in the store, whoever shows it.

import { OnyxError, type Draft, type Told } from '@onyx/sdk';
import { onyx } from './client';
import { toast, useStore } from './state';

const { getState, setState } = useStore;

const put = (draft: Draft) => setState((state) => ({ drafts: { ...state.drafts, [draft.id]: { ...state.drafts[draft.id], ...draft } } }));

export async function refreshDrafts(): Promise<void> {
  try {
    const drafts = await onyx.drafts.list();
    setState({ drafts: Object.fromEntries(drafts.map((draft) => [draft.id, draft])), draftsPhase: 'ready' });
  } catch (error) {
    setState((state) => ({ draftsPhase: state.draftsPhase === 'ready' ? 'ready' : error instanceof OnyxError && error.isOffline ? 'loading' : 'failed' }));
  }
}

export async function refreshDraft(id: string): Promise<void> {
  try {
    put(await onyx.drafts.get(id));
  } catch {
    // It is gone, or the link is: both are shown elsewhere.
  }
}

/** What a run proposes is shown at once; the server's own row follows. */
export function keepDraft(told: Told): void {
  if (told.event.type !== 'draft' && told.event.type !== 'confirm') return;
  const { draftId, tool, summary, preview } = told.event;
  const known = getState().drafts[draftId];
  if (known && known.state !== 'pending') return;
  const expiresAt = told.event.type === 'confirm' ? told.event.expiresAt : known?.expiresAt;
  const { sessionId, runId, agent } = told;
  put({ ...known, id: draftId, state: 'pending', tool, summary, preview, sessionId, runId, agent, expiresAt });
  void refreshDraft(draftId);
}

const LOST: Record<string, string> = {
  draft_stale: 'What it changes has changed since: look at the new difference before you decide',
  draft_decided: 'Somebody decided it before you',
  draft_expired: 'It has expired',
};

export interface Verdict {
  decision: 'approve' | 'reject';
  reason?: string;
  scope?: string;
}

/** Decides, and shows what it is now also when somebody was faster. */
export async function decide(id: string, { decision, reason, scope }: Verdict): Promise<boolean> {
  try {
    put(await (decision === 'approve' ? onyx.drafts.approve(id, { scope }) : onyx.drafts.reject(id, { reason })));
    return true;
  } catch (error) {
    if (!(error instanceof OnyxError)) throw error;
    const lost = LOST[error.code];
    toast(lost ?? `${decision === 'approve' ? 'Not approved' : 'Not rejected'}. ${error.message} ${error.hint}`, { tone: 'danger' });
    await refreshDraft(id);
    return false;
  }
}
