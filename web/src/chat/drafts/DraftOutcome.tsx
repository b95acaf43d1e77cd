import { Clock } from 'lucide-react';
import type { Draft } from '@onyx/sdk';
import { useStore, type SentVerdict } from '../../store/state';

const DECIDED: Record<string, string> = {
  applying: 'Being applied',
  applied: 'Approved and done',
  failed: 'Approved, but it failed',
  unknown: 'Approved, but the result is unknown',
  rejected: 'Rejected',
  superseded: 'Replaced by a newer draft',
  expired: 'Expired',
};

/** What was decided on a draft, by whom, and what came of it. */
export function Decided({ draft }: { draft: Draft }) {
  const me = useStore((state) => state.me?.person);
  const by = draft.decidedBy && (draft.decidedBy === me ? 'by you' : `already decided by ${draft.decidedBy}`);
  if (draft.asksFor === 'answer' && draft.state === 'applied')
    return <span role="status">{`You answered: ${draft.output ?? draft.reason ?? ''}`}</span>;
  return (
    <span role="status">
      {[DECIDED[draft.state] ?? draft.state, by, draft.reason && `“${draft.reason}”`, draft.output]
        .filter(Boolean)
        .join(' · ')}
    </span>
  );
}

/** Shown for a decision that was made here and has not reached the server yet. */
export function Given({ verdict, onTakeBack }: { verdict: SentVerdict; onTakeBack: () => void }) {
  const decided = verdict.decision === 'approve' ? 'Approved' : 'Rejected';
  return (
    <>
      <span role="status" className="inline-flex min-w-0 flex-1 items-center gap-1.5 text-warn">
        <Clock size={13} className="shrink-0" aria-hidden /> {decided}, waiting for the connection
      </span>
      <button type="button" className="btn" onClick={onTakeBack}>
        Undo
      </button>
    </>
  );
}
