import { useState, type RefObject } from 'react';
import type { Draft } from '@onyx/sdk';
import { decide } from '../../store/drafts';
import type { Verdict } from '../../store/state';
import { nextOpenCard, useDecisionKeys } from './decisionKeys';

export type Decision = ReturnType<typeof useDecision>;

/** A person's decision on the draft of a card, by its buttons or by keys. */
export function useDecision(id: string, draft: Draft | undefined, card: RefObject<HTMLElement | null>) {
  const [busy, setBusy] = useState(false);
  const [rejecting, setRejecting] = useState(false);
  const answer = async (verdict: Verdict) => {
    setBusy(true);
    const held = card.current?.contains(document.activeElement) ?? false;
    await decide(id, verdict);
    setBusy(false);
    setRejecting(false);
    // The pressed button is gone; without this the focus would move to the page.
    if (held) (nextOpenCard(card.current) ?? card.current)?.focus();
  };
  const asks = draft?.asksFor === 'answer';
  // A member's draft is shown here only to the owner, who may approve it.
  const mayApprove = !draft?.needsOwner || draft.person !== undefined;
  const options = asks && draft?.preview.kind === 'choice' ? draft.preview.options : [];
  const choices = options.map((option, index) => [
    `${index + 1}`,
    () => !busy && void answer({ decision: 'approve', reason: option }),
  ]);
  useDecisionKeys(card, {
    a: () => !asks && !busy && mayApprove && void answer({ decision: 'approve' }),
    r: () => !busy && setRejecting(true),
    ...Object.fromEntries(choices),
  });
  return { asks, mayApprove, busy, rejecting, setRejecting, answer };
}
