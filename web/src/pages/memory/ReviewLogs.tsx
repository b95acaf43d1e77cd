import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { BookOpenText } from 'lucide-react';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { wordsOf, type ReviewWords } from './review';

/** Lets the default agent review its daily logs now; its proposals go to the Inbox. */
export function ReviewLogs() {
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const actionOf = (leadsTo: ReviewWords['leadsTo'], session: string) => {
    switch (leadsTo) {
      case 'inbox':
        return { label: 'Open Inbox', run: () => void navigate({ to: '/inbox' }) };
      case 'chat':
        return { label: 'Open chat', run: () => void navigate({ to: '/chat/$id', params: { id: session } }) };
      case undefined:
        return undefined;
    }
  };
  const review = async () => {
    setBusy(true);
    const report = await attempt('The logs were not reviewed', () => onyx.memory.keep());
    setBusy(false);
    if (!report) return;
    const { text, tone, leadsTo } = wordsOf(report);
    toast(text, { tone, action: actionOf(leadsTo, report.sessionId ?? '') });
  };
  return (
    <button
      type="button"
      className="btn"
      disabled={busy}
      aria-busy={busy}
      title="An agent reads its daily logs and proposes what to keep in memory"
      onClick={() => void review()}
    >
      <BookOpenText size={15} aria-hidden />{' '}
      <span className="max-sm:sr-only">{busy ? 'Reviewing logs' : 'Review logs'}</span>
    </button>
  );
}
