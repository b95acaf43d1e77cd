import { useMemo, useState } from 'react';
import { Link } from '@tanstack/react-router';
import { DraftCard } from '../chat/DraftCard';
import { useStore } from '../store/state';
import { Header } from '../shell/Header';

/** What waits for a person. The same drafts as in the chats, never copies. */
export function InboxPage() {
  const drafts = useStore((state) => state.drafts);
  const [tab, setTab] = useState<'waiting' | 'decided'>('waiting');
  const shown = useMemo(() => {
    const waits = (state: string) => state === 'pending' || state === 'stale';
    return Object.values(drafts).filter((draft) => waits(draft.state) === (tab === 'waiting'));
  }, [drafts, tab]);
  return (
    <>
      <Header title="Inbox">
        <div className="flex gap-4 text-[14px]" role="tablist" aria-label="Drafts">
          {(['waiting', 'decided'] as const).map((name) => (
            <button key={name} type="button" role="tab" aria-selected={tab === name} className={`h-8 border-b-2 ${tab === name ? 'border-accent font-semibold' : 'border-transparent text-dim'}`} onClick={() => setTab(name)}>
              {name === 'waiting' ? 'Waiting' : 'Decided'}
            </button>
          ))}
        </div>
      </Header>
      <div className="flex-1 overflow-y-auto px-4 py-4 md:px-6 md:py-6">
        <div className="mx-auto flex max-w-[880px] flex-col gap-4">
          {shown.map((draft) => (
            <DraftCard key={draft.id} id={draft.id} />
          ))}
          {shown.length === 0 && (
            <p className="meta py-10 text-center">
              {tab === 'waiting' ? 'Nothing waits for you.' : 'Nothing was decided yet.'}{' '}
              <Link to="/chat" className="text-accent underline underline-offset-3">New chat</Link>
            </p>
          )}
        </div>
      </div>
    </>
  );
}
