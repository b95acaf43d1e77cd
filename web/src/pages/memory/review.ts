import type { KeptMemories } from '@onyx/sdk';

/** What a notice says after a review of the daily logs, and the page that it leads to. */
export interface ReviewWords {
  text: string;
  tone: 'plain' | 'danger';
  leadsTo?: 'inbox' | 'chat';
}

/** The words for the result of a review. Several proposals may be one card in the Inbox, so none are counted. */
export function wordsOf({ drafts, sessionId, status }: KeptMemories): ReviewWords {
  if (!sessionId) return { text: 'There are no daily logs to review yet.', tone: 'plain' };
  const proposed = drafts.length > 0;
  if (status !== 'done')
    return proposed
      ? { text: 'The review did not finish. What it proposed is in the Inbox.', tone: 'danger', leadsTo: 'inbox' }
      : { text: 'The review did not finish.', tone: 'danger', leadsTo: 'chat' };
  if (proposed) return { text: 'Proposed changes are in the Inbox.', tone: 'plain', leadsTo: 'inbox' };
  return { text: 'The logs hold nothing new for memory.', tone: 'plain' };
}
