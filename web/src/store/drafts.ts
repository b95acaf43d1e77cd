// Drafts and confirmations: one of each in the store, whoever shows it.

import { OnyxError, type ApprovalScope, type Draft, type Told } from '@onyx/sdk';
import { onyx, socket } from './client';
import { toast, useStore } from './state';

const { getState, setState } = useStore;

const put = (draft: Draft) => setState((state) => ({ drafts: { ...state.drafts, [draft.id]: { ...state.drafts[draft.id], ...draft } } }));

const NEWEST = 100;

export async function refreshDrafts(): Promise<void> {
  try {
    const drafts = await socket.drafts({ limit: NEWEST });
    setState((state) => ({ drafts: { ...state.drafts, ...Object.fromEntries(drafts.map((draft) => [draft.id, draft])) }, draftsPhase: 'ready' }));
  } catch (error) {
    const offline = error instanceof OnyxError && error.isOffline;
    setState((state) => ({ draftsPhase: state.draftsPhase === 'ready' ? 'ready' : offline ? 'loading' : 'failed' }));
  }
}

/** One that changed, or an old one that a chat still shows. */
export async function refreshDraft(id: string): Promise<void> {
  try {
    put(await onyx.drafts.get(id));
  } catch {
    // Gone with its session, or the link is gone: the card says that it is not known.
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
}

const LOST: Record<string, string> = {
  draft_stale: 'What it changes has changed since: look at the new difference before you decide',
  draft_decided: 'Somebody decided it before you',
  draft_expired: 'It has expired',
};

export interface Verdict {
  decision: 'approve' | 'reject';
  reason?: string;
  scope?: ApprovalScope;
}

/** Decides, and shows what it is now also when somebody was faster. */
export async function decide(draftId: string, verdict: Verdict): Promise<boolean> {
  try {
    // What was looked at, and nothing else.
    const planHash = getState().drafts[draftId]?.planHash;
    put(await socket.decide({ draftId, ...verdict, planHash: verdict.decision === 'approve' ? planHash : undefined }));
    return true;
  } catch (error) {
    if (!(error instanceof OnyxError)) throw error;
    const failed = verdict.decision === 'approve' ? 'Not approved' : 'Not rejected';
    toast(LOST[error.code] ?? `${failed}. ${error.message} ${error.hint}`, { tone: 'danger' });
    await refreshDraft(draftId);
    return false;
  }
}
