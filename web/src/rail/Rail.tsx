import { useLocation } from '@tanstack/react-router';
import { useEffect, useRef, type KeyboardEvent } from 'react';
import { MessageSquare, PanelRightClose, X } from 'lucide-react';
import type { Space, View } from '@onyx/sdk';
import { show } from '../store/actions';
import { openCompanion, useCompanion } from '../store/companion';
import { useStore } from '../store/state';
import { Agent } from './Agent';
import { Edge } from './Edge';
import { CompanionChat } from './CompanionChat';
import { COMPANION, setRailOpen, useRail } from './useRail';

/** What the person is looking at, and its title. */
export interface Looking {
  view: View;
  title: string;
}

/** The companion of a space, shown beside, over or instead of its page. */
export function Rail({ space, looking }: { space: Space; looking?: Looking }) {
  const { mode, open, width } = useRail();
  const online = useStore((state) => state.link === 'online');
  const { conversation } = useCompanion(space.id);
  const isAskedFor = useLocation({ select: ({ hash }) => hash === COMPANION });
  useEffect(() => {
    if (isAskedFor) setRailOpen(true);
  }, [isAskedFor, space.id]);
  useEffect(() => {
    if (online) void openCompanion(space.id);
  }, [online, space.id]);
  useEffect(() => {
    if (!open || conversation === undefined) return;
    show(conversation);
    return () => show(undefined);
  }, [open, conversation]);
  const wasOpen = useRef(open);
  useEffect(() => {
    // The button that opened the rail is gone, so the composer takes the focus.
    if (open && !wasOpen.current && mode === 'beside') document.getElementById('composer')?.focus();
    wasOpen.current = open;
  }, [open, mode]);
  if (!open) return mode === 'sheet' ? null : <Tab conversation={conversation} focused={wasOpen.current} />;
  if (mode === 'beside') {
    return (
      <aside aria-label="Companion" className="relative flex shrink-0 flex-col border-l border-line" style={{ width }}>
        <Edge width={width} />
        <Content space={space} looking={looking} close="collapse" />
      </aside>
    );
  }
  return (
    <Over isSheet={mode === 'sheet'} width={width}>
      {mode === 'over' && <Edge width={width} />}
      <Content space={space} looking={looking} close={mode === 'sheet' ? 'close' : 'collapse'} />
    </Over>
  );
}

/** The rail over the page: it takes the focus, gives it back when closed, and closes on Esc. */
function Over({ isSheet, width, children }: { isSheet: boolean; width: number; children: React.ReactNode }) {
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    panel.current?.focus();
    return () => (before as HTMLElement | null)?.focus?.();
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    event.stopPropagation();
    setRailOpen(false);
  };
  const place = isSheet
    ? 'fixed inset-0 z-40 pb-[env(safe-area-inset-bottom)] pt-[env(safe-area-inset-top)]'
    : 'absolute inset-y-0 right-0 z-30 border-l border-line shadow-over';
  return (
    <div
      ref={panel}
      role="dialog"
      aria-label="Companion"
      aria-modal={isSheet}
      tabIndex={-1}
      className={`flex flex-col bg-bg outline-none ${place}`}
      style={isSheet ? undefined : { width }}
      onKeyDown={onKeyDown}
    >
      {children}
    </div>
  );
}

function Content({ space, looking, close }: { space: Space; looking?: Looking; close: 'collapse' | 'close' }) {
  return (
    <>
      <div className="flex h-13 shrink-0 items-center gap-2 border-b border-line pr-2 pl-4">
        <h2 className="font-semibold">Companion</h2>
        <span className="meta min-w-0 flex-1 truncate" title={space.name} dir="auto">
          {space.name}
        </span>
        <Agent space={space} />
        <button
          type="button"
          className="icon-btn"
          aria-label={close === 'close' ? 'Close the companion' : 'Collapse the companion'}
          title={close === 'close' ? 'Close' : 'Collapse'}
          onClick={() => setRailOpen(false)}
        >
          {close === 'close' ? <X size={18} aria-hidden /> : <PanelRightClose size={16} aria-hidden />}
        </button>
      </div>
      <CompanionChat space={space} looking={looking} />
    </>
  );
}

/** What waits in the companion: pending drafts, a running answer, or an unread one. */
export function useBadge(conversation: string | undefined): { drafts: number; running: boolean; unread: boolean } {
  const drafts = useStore(
    (state) =>
      Object.values(state.drafts).filter(
        (draft) =>
          draft.sessionId === conversation &&
          conversation !== undefined &&
          (draft.state === 'pending' || draft.state === 'stale'),
      ).length,
  );
  const running = useStore(
    (state) => conversation !== undefined && state.conversations[conversation]?.live !== undefined,
  );
  const unread = useStore((state) => conversation !== undefined && state.sessions[conversation]?.unread === true);
  return { drafts, running, unread };
}

const saysOf = ({ drafts, running, unread }: ReturnType<typeof useBadge>) =>
  [
    drafts > 0 && `${drafts} ${drafts === 1 ? 'draft waits' : 'drafts wait'}`,
    running && 'working',
    unread && 'a new answer',
  ]
    .filter(Boolean)
    .join(', ');

function Badge({ badge }: { badge: ReturnType<typeof useBadge> }) {
  if (badge.drafts > 0)
    return (
      <span className="min-w-5 rounded-full bg-warn-soft px-1.5 text-center text-tiny text-warn" aria-hidden>
        {badge.drafts}
      </span>
    );
  if (badge.running) return <span className="dot dot-run" aria-hidden />;
  return badge.unread ? <span className="dot bg-ok" aria-hidden /> : null;
}

/** The strip of 40 pixels that opens the collapsed rail. */
function Tab({ conversation, focused }: { conversation?: string; focused: boolean }) {
  const badge = useBadge(conversation);
  const says = saysOf(badge);
  return (
    <button
      type="button"
      autoFocus={focused}
      aria-label={`Open the companion${says && `, ${says}`}`}
      title="Companion"
      className="flex w-10 shrink-0 flex-col items-center gap-3 border-l border-line bg-sunken pt-4 text-dim hover:text-text"
      onClick={() => setRailOpen(true)}
    >
      <MessageSquare size={16} aria-hidden />
      <Badge badge={badge} />
      <span className="text-meta [writing-mode:vertical-rl]" aria-hidden>
        Companion
      </span>
    </button>
  );
}

/** The button in a phone's header that opens the companion. */
export function RailButton({ space }: { space: Space }) {
  const { conversation } = useCompanion(space.id);
  const badge = useBadge(conversation);
  const says = saysOf(badge);
  return (
    <button
      type="button"
      aria-label={`Open the companion${says && `, ${says}`}`}
      title="Companion"
      className="icon-btn relative md:hidden"
      onClick={() => setRailOpen(true)}
    >
      <MessageSquare size={18} aria-hidden />
      <span className="absolute top-0.5 right-0">
        <Badge badge={badge} />
      </span>
    </button>
  );
}
