import { Link } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import type { Draft } from '@onyx/sdk';
import { refreshDraft, takeBack } from '../../store/drafts';
import { useStore } from '../../store/state';
import { titleOf } from '../../shell/links';
import { ago, fullTime } from '../../ui/time';
import { useSurface } from '../density';
import { DraftDecision } from './DraftDecision';
import { Decided, Given } from './DraftOutcome';
import { DraftPreview } from './DraftPreview';
import { useDecision } from './useDecision';

const EFFECTS: Record<string, string> = {
  destroy: 'deletes or overwrites',
  reach: 'leaves this machine',
  execute: 'runs a command',
};

export const isOpen = (draft: Draft) => draft.state === 'pending' || draft.state === 'stale';

/** A change that an agent proposes. Every place that shows it draws the same draft of the store. */
export function DraftCard({ id, inChat = false }: { id: string; inChat?: boolean }) {
  const draft = useStore((state) => state.drafts[id]);
  const online = useStore((state) => state.link === 'online');
  const given = useStore((state) => state.verdicts[id]);
  const { density } = useSurface();
  const card = useRef<HTMLElement>(null);
  const unknown = draft === undefined;
  useEffect(() => {
    if (unknown && online) void refreshDraft(id);
  }, [unknown, online, id]);
  const decision = useDecision(id, draft, card);
  if (!draft) return <div className="card meta border-l-3 border-l-line px-4 py-3">This draft no longer exists.</div>;
  const { asks } = decision;
  const open = isOpen(draft) && !given;
  // In a chat the card is below the speaker's name, elsewhere below the page's title.
  const Title = inChat ? 'h3' : 'h2';
  return (
    <section
      ref={card}
      aria-label={draft.summary}
      data-draft={id}
      data-open={open || undefined}
      tabIndex={open ? 0 : -1}
      className={`card border-l-3 ${open ? 'border-l-warn' : 'border-l-line'}`}
    >
      <header className="flex flex-wrap items-baseline gap-x-2.5 px-3.5 py-2.5">
        <Title className="min-w-0 font-semibold [overflow-wrap:anywhere]">
          {asks && 'text' in draft.preview ? draft.preview.text : draft.summary}
        </Title>
        <About draft={draft} inChat={inChat} />
      </header>
      {!asks && <DraftPreview preview={draft.preview} />}
      <footer
        className={`flex flex-wrap items-center gap-2 rounded-b-md border-t border-line bg-surface px-3.5 py-2.5 text-meta text-dim ${open ? `sticky -bottom-4 ${density === 'page' ? 'md:-bottom-6' : ''}` : ''}`}
      >
        {given && <Given verdict={given} onTakeBack={() => takeBack(id)} />}
        {!open && !given && <Decided draft={draft} />}
        {open && <DraftDecision draft={draft} decision={decision} />}
      </footer>
    </section>
  );
}

/** Whose draft it is, what is unusual about it, where it came up, and when. */
function About({ draft, inChat }: { draft: Draft; inChat: boolean }) {
  const session = useStore((state) => (draft.sessionId ? state.sessions[draft.sessionId] : undefined));
  const agent = useStore((state) => state.status?.agents.find((one) => one.id === draft.agent)?.name ?? draft.agent);
  return (
    <span className="meta flex min-w-0 flex-wrap items-baseline gap-x-1.5">
      {agent && <span>{draft.person ? `${agent} of ${draft.person}` : agent}</span>}
      {draft.effect && EFFECTS[draft.effect] && <span className="text-warn">{EFFECTS[draft.effect]}</span>}
      {draft.instruction && <span className="text-warn">changes agent instructions</span>}
      {draft.tainted && <span className="text-warn">after reading outside content</span>}
      {!inChat && session && (
        <Link to="/chat/$id" params={{ id: session.id }} className="max-w-60 truncate underline underline-offset-3">
          {titleOf(session)}
        </Link>
      )}
      {draft.createdAt && <time title={fullTime(draft.createdAt)}>{ago(draft.createdAt)}</time>}
    </span>
  );
}
