import { useEffect, useLayoutEffect, useMemo, useState } from 'react';
import { Link } from '@tanstack/react-router';
import type { Draft } from '@onyx/sdk';
import { openCards } from '../chat/drafts/decisionKeys';
import { DraftCard, isOpen } from '../chat/drafts/DraftCard';
import { decide, refreshDrafts } from '../store/drafts';
import { useJobs } from '../store/jobs';
import { toast, useStore } from '../store/state';
import { isWriting } from '../ui/keyboard';
import { WaitingJob } from './jobs/WaitingJob';
import { Confirm } from '../ui/Modal';
import { Empty, ErrorLine, Page, Skeletons } from '../ui/page';

type Tab = 'waiting' | 'decided';

const newest = (drafts: Draft[]) => drafts.sort((a, b) => (b.createdAt ?? '').localeCompare(a.createdAt ?? ''));

/** Drafts that wait for the person, and decided ones. They are the same drafts as in the chats, not copies. */
export function InboxPage() {
  const drafts = useStore((state) => state.drafts);
  const phase = useStore((state) => state.draftsPhase);
  const [tab, setTab] = useState<Tab>('waiting');
  const waiting = useMemo(() => newest(Object.values(drafts).filter(isOpen)), [drafts]);
  // A draft decided here stays visible until the person leaves the page, so that its outcome can be read.
  const [settled, setSettled] = useState<string[]>([]);
  useEffect(() => setSettled((known) => [...new Set([...known, ...waiting.map((draft) => draft.id)])]), [waiting]);
  const shown =
    tab === 'waiting'
      ? settled.flatMap((id) => drafts[id] ?? [])
      : newest(Object.values(drafts).filter((draft) => !isOpen(draft)));
  const all = useJobs((state) => state.jobs);
  const jobs = useMemo(() => all.filter((job) => job.state === 'waiting'), [all]);
  const own = waiting.filter(isOwn);
  const count = waiting.length + jobs.length;
  useMovingByKeys();
  return (
    <Page
      title="Inbox"
      bar={
        <div className="flex gap-4 text-[14px]" role="tablist" aria-label="Drafts">
          {(['waiting', 'decided'] as const).map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              aria-selected={tab === name}
              className={`h-8 max-md:h-11 ${tab === name ? 'font-semibold' : 'text-dim'}`}
              onClick={() => setTab(name)}
            >
              {name === 'waiting' ? `Waiting${count > 0 ? ` ${count}` : ''}` : 'Decided'}
            </button>
          ))}
        </div>
      }
    >
      <div className="flex flex-col gap-4">
        {tab === 'waiting' && jobs.map((job) => <WaitingJob key={job.id} job={job} />)}
        {tab === 'waiting' && own.length > 1 && <All waiting={own} />}
        {shown.filter(isOwn).map((draft) => (
          <DraftCard key={draft.id} id={draft.id} />
        ))}
        <OfMembers drafts={shown.filter((draft) => !isOwn(draft))} />
        {shown.length === 0 && !(tab === 'waiting' && jobs.length > 0) && <Nothing tab={tab} phase={phase} />}
      </div>
    </Page>
  );
}

const isOwn = (draft: Draft) => draft.person === undefined;

/** Drafts of members' agents that only the owner may approve. */
function OfMembers({ drafts }: { drafts: Draft[] }) {
  if (drafts.length === 0) return null;
  return (
    <section aria-labelledby="of-members" className="flex flex-col gap-4">
      <div>
        <h2 id="of-members" className="font-semibold">
          From members
        </h2>
        <p className="meta">Their agents want to do this, and only you can approve it.</p>
      </div>
      {drafts.map((draft) => (
        <DraftCard key={draft.id} id={draft.id} inChat />
      ))}
    </section>
  );
}

function Nothing({ tab, phase }: { tab: Tab; phase: 'loading' | 'ready' | 'failed' }) {
  const online = useStore((state) => state.link === 'online');
  if (phase === 'failed') {
    return (
      <ErrorLine
        fault={{ code: 'internal', message: 'The drafts could not be loaded.', hint: 'They are kept on the server.' }}
        action={{ label: 'Retry', run: () => void refreshDrafts() }}
      />
    );
  }
  if (phase === 'loading')
    return online ? <Skeletons rows={2} height="h-40" /> : <Empty>Drafts appear when the connection is back.</Empty>;
  return (
    <Empty>
      {tab === 'waiting' ? 'Nothing is waiting for you.' : 'Nothing decided yet.'}{' '}
      <Link to="/chat" className="text-accent underline underline-offset-3">
        New chat
      </Link>
    </Empty>
  );
}

/** Decides all drafts at once, after a confirmation that shows their number. */
function All({ waiting }: { waiting: Draft[] }) {
  const [asking, setAsking] = useState<'approve' | 'reject'>();
  const run = async (decision: 'approve' | 'reject', yes: boolean) => {
    setAsking(undefined);
    if (!yes) return;
    const came = { done: 0, waiting: 0, refused: 0 };
    for (const draft of waiting.filter((one) => one.state === 'pending'))
      came[await decide(draft.id, { decision })] += 1;
    const how = decision === 'approve' ? 'approved' : 'rejected';
    toast(
      came.waiting > 0
        ? `${came.waiting} of ${waiting.length} will be sent when you are online`
        : `${came.done} of ${waiting.length} ${how}`,
    );
  };
  return (
    <div className="flex flex-wrap items-center gap-2">
      <span className="meta flex-1">
        {waiting.length} wait for you
        <span className="max-md:hidden">
          {' · '}
          <kbd className="kbd">J</kbd> <kbd className="kbd">K</kbd> to move
        </span>
      </span>
      <button type="button" className="btn" onClick={() => setAsking('approve')}>
        Approve all
      </button>
      <button type="button" className="btn" onClick={() => setAsking('reject')}>
        Reject all
      </button>
      {asking && (
        <Confirm
          question={`${asking === 'approve' ? 'Approve' : 'Reject'} all ${waiting.length}?`}
          detail={
            asking === 'approve'
              ? 'Each is applied exactly as shown. A draft whose file has changed since stays in the list.'
              : 'The agents learn about it at their next step.'
          }
          action={asking === 'approve' ? 'Approve all' : 'Reject all'}
          onAnswer={(yes) => void run(asking, yes)}
        />
      )}
    </div>
  );
}

/** J and K move between cards; A and R decide the focused card. */
function useMovingByKeys(): void {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'j' && event.key !== 'k') return;
      if (event.metaKey || event.ctrlKey || event.altKey || isWriting(event.target)) return;
      if (document.querySelector('dialog[open]')) return;
      const cards = openCards();
      const at = cards.indexOf(document.activeElement as HTMLElement);
      const next = cards[Math.max(0, Math.min(cards.length - 1, at + (event.key === 'j' ? 1 : -1)))];
      next?.focus();
      next?.scrollIntoView({ block: 'nearest' });
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
