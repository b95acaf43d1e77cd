// Drafts and confirmations. Each exists once in the store, wherever it is shown.

import { OnyxError, type Draft, type EventEnvelope } from '@onyx/sdk';
import { onyx, socket } from './client';
import { writeStored } from './browserStorage';
import { toast, useStore, type SentVerdict, type State, type Verdict } from './state';

const { getState, setState } = useStore;

const put = (draft: Draft) =>
  setState((state) => ({ drafts: { ...state.drafts, [draft.id]: { ...state.drafts[draft.id], ...draft } } }));

const NEWEST = 100;

export async function refreshDrafts(): Promise<void> {
  try {
    const drafts = await socket.drafts({ limit: NEWEST });
    setState((state) => ({
      drafts: { ...state.drafts, ...Object.fromEntries(drafts.map((draft) => [draft.id, draft])) },
      draftsPhase: 'ready',
    }));
  } catch (error) {
    const offline = error instanceof OnyxError && error.isOffline;
    setState((state) => ({ draftsPhase: state.draftsPhase === 'ready' ? 'ready' : offline ? 'loading' : 'failed' }));
  }
}

/** For the owner: drafts that members may not approve. They are among the other drafts, with their member. */
export async function refreshMemberDrafts(): Promise<void> {
  if (getState().me?.role !== 'owner') return;
  try {
    const drafts = await onyx.drafts.ofMembers();
    const waiting = new Set(drafts.map(({ id }) => id));
    setState((state) => {
      // A draft that the member has decided no longer concerns the owner.
      const others = Object.entries(state.drafts).filter(
        ([id, { person, state: at }]) => person === undefined || at !== 'pending' || waiting.has(id),
      );
      const fresh = drafts.map((draft) => [draft.id, draft] as const);
      return { drafts: Object.fromEntries([...others, ...fresh]) };
    });
  } catch {
    // Without a connection the known drafts are shown; they are loaded again when it is back.
  }
}

/** Loads a draft that changed, or an old one that a chat shows. */
export async function refreshDraft(id: string): Promise<void> {
  if (getState().drafts[id]?.person !== undefined) return refreshMemberDrafts();
  try {
    put(await onyx.drafts.get(id));
  } catch {
    // The draft was deleted with its session, or the connection is lost: the card shows that it is unknown.
  }
}

/** A proposal is shown at once; the server's row follows. */
export function keepDraft(envelope: EventEnvelope): void {
  if (envelope.event.type !== 'draft' && envelope.event.type !== 'confirm') return;
  const { draftId, tool, summary, preview, asksFor } = envelope.event;
  const known = getState().drafts[draftId];
  if (known && known.state !== 'pending') return;
  const expiresAt = envelope.event.type === 'confirm' ? envelope.event.expiresAt : known?.expiresAt;
  const { sessionId, runId, agent } = envelope;
  const said = { tool, summary, preview, asksFor, sessionId, runId, agent, expiresAt };
  put({ ...known, id: draftId, state: 'pending', ...said });
}

/** The question that an agent of this session waits for an answer to. */
export const questionIn = ({ drafts, verdicts }: Pick<State, 'drafts' | 'verdicts'>, sessionId: string | undefined) =>
  sessionId === undefined
    ? undefined
    : Object.values(drafts).find(
        ({ id, asksFor, state, sessionId: of }) =>
          of === sessionId && asksFor === 'answer' && state === 'pending' && !verdicts[id],
      );

/** Sends a message as the answer to a waiting question; returns whether there was one. */
export async function answerQuestion(sessionId: string, words: string): Promise<boolean> {
  const question = questionIn(getState(), sessionId);
  // If the question ended in the meantime, the text is sent as a message.
  return question !== undefined && (await decide(question.id, { decision: 'approve', reason: words })) !== 'refused';
}

const LOST: Record<string, string> = {
  draft_stale: 'The file has changed since. Review the new diff before you decide.',
  draft_expired: 'It has expired',
};

function keepVerdict(id: string, verdict?: SentVerdict): void {
  setState(({ verdicts: { [id]: _, ...others } }) => ({ verdicts: verdict ? { ...others, [id]: verdict } : others }));
  writeStored('onyx.verdicts', getState().verdicts);
}

/** Takes back a decision that has not been sent. */
export const takeBack = (draftId: string) => keepVerdict(draftId);

/** Decides a draft and shows its new state, also if it was decided elsewhere. Offline the decision waits. */
export async function decide(draftId: string, verdict: Verdict): Promise<'done' | 'waiting' | 'refused'> {
  // Approves exactly the reviewed plan.
  const planHash = verdict.decision === 'approve' ? getState().drafts[draftId]?.planHash : undefined;
  return send(draftId, { ...verdict, planHash });
}

async function send(draftId: string, verdict: SentVerdict): Promise<'done' | 'waiting' | 'refused'> {
  try {
    const person = getState().drafts[draftId]?.person;
    const { decision, ...said } = verdict;
    put(
      await (person ? onyx.drafts.decideFor(person, draftId, decision, said) : socket.decide({ draftId, ...verdict })),
    );
    keepVerdict(draftId);
    return 'done';
  } catch (error) {
    if (!(error instanceof OnyxError)) throw error;
    if (error.isOffline) {
      keepVerdict(draftId, verdict);
      return 'waiting';
    }
    await refreshDraft(draftId);
    const waited = getState().verdicts[draftId] !== undefined;
    keepVerdict(draftId);
    // The server received the decision before the connection broke; only its answer was lost.
    if (waited && error.code === 'draft_decided' && isOwn(draftId, verdict)) return 'done';
    toast(whyNot(draftId, verdict, error), { tone: 'danger' });
    return 'refused';
  }
}

function isOwn(draftId: string, { decision }: SentVerdict): boolean {
  const { drafts, me } = getState();
  const draft = drafts[draftId];
  return draft?.decidedBy === me?.person && (draft?.state === 'rejected') === (decision === 'reject');
}

function whyNot(draftId: string, { decision }: SentVerdict, error: OnyxError): string {
  const { drafts, me } = getState();
  const by = drafts[draftId]?.decidedBy;
  if (error.code === 'draft_decided' && by) return `Already decided by ${by === me?.person ? 'you, elsewhere' : by}`;
  const failed = decision === 'approve' ? 'Not approved' : 'Not rejected';
  return LOST[error.code] ?? `${failed}. ${error.message} ${error.hint}`;
}

let flushing = false;

/** Sends the decisions that were made offline, each once. */
export async function flushVerdicts(): Promise<void> {
  if (flushing) return;
  flushing = true;
  try {
    for (const [id, verdict] of Object.entries(getState().verdicts)) await send(id, verdict);
  } finally {
    flushing = false;
  }
}
