import { useEffect, useMemo, useRef, type UIEvent } from 'react';
import { ArrowDown } from 'lucide-react';
import { Virtualizer, type VirtualizerHandle } from 'virtua';
import { loadOlder } from '../store/client';
import { NamedHosts, hostsIn } from '../markdown/namedHosts';
import { holdsTurn, textOf, type Message } from '../store/messages';
import { useStore } from '../store/state';
import { SurfaceProvider, type Density, type Surface } from './density';
import { Turn } from './Turn';
import { useFollowing } from './useFollowing';
import { useMessages } from './useMessages';

const NEAR_TOP = 600;
/** The estimated height of a turn. A value that is too small draws many turns off the screen. */
const USUAL_HEIGHT = 140;

interface ConversationProps extends Omit<Surface, 'density' | 'latest'> {
  sessionId?: string;
  /** The turn that a link points to. */
  turn?: string;
  /** The message that the search is at. */
  found?: number;
  density?: Density;
}

/** The turns of a conversation. Only those near the visible part are in the page. */
export function Conversation({
  sessionId,
  turn,
  found: foundByWords,
  density = 'page',
  again,
  takeBack,
  retrieved,
}: ConversationProps) {
  const messages = useMessages(sessionId);
  const foundByTurn = useTurnAt(sessionId, turn, messages);
  const found = foundByWords ?? foundByTurn;
  const list = useRef<VirtualizerHandle>(null);
  const older = useStore((state) => sessionId !== undefined && state.conversations[sessionId]?.older === true);
  const before = useStore((state) => (sessionId ? state.conversations[sessionId]?.before : undefined));

  // A message that the person sends is always scrolled into view.
  const own = messages.findLast((message) => message.kind === 'words')?.id;
  const latest = density === 'thread' ? own : undefined;
  const surface = useMemo(
    () => ({ density, again, latest, takeBack, retrieved }),
    [density, again, latest, takeBack, retrieved],
  );
  const named = useMemo(() => namedHosts(messages), [own, sessionId]);
  const { scroller, away, follow, stopFollowing, notePosition } = useFollowing(messages, own, sessionId);
  useEffect(() => {
    if (found === undefined) return;
    stopFollowing();
    list.current?.scrollToIndex(found, { align: 'center' });
  }, [found]);

  const onScroll = ({ currentTarget }: UIEvent<HTMLElement>) => {
    notePosition(currentTarget);
    if (sessionId && before !== undefined && !older && currentTarget.scrollTop < NEAR_TOP) {
      // Without a connection the next scroll tries again.
      void loadOlder(sessionId).catch(() => undefined);
    }
  };

  return (
    // A panel grows with its content up to a limit; other places have a fixed height.
    <div className={`relative min-h-0 ${density === 'ephemeral' ? 'flex flex-col' : 'flex-1'}`}>
      <div
        ref={scroller}
        className={`${density === 'ephemeral' ? '' : 'h-full'} overflow-y-auto overscroll-contain px-4 py-4 [overflow-anchor:none] ${density === 'page' ? 'md:px-6 md:py-6' : ''}`}
        data-density={density}
        onScroll={onScroll}
        // One wheel step may be shorter than the distance that counts as the end, so its direction decides.
        onWheel={(event) => event.deltaY < 0 && stopFollowing()}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        tabIndex={0}
      >
        <div className="mx-auto max-w-[760px]">
          <Virtualizer
            ref={list}
            scrollRef={scroller}
            shift={older}
            bufferSize={400}
            itemSize={USUAL_HEIGHT}
            data={messages}
          >
            {(message, index) => (
              <div key={message.id} className="pb-5" data-found={index === found || undefined}>
                <SurfaceProvider value={surface}>
                  <NamedHosts value={named}>
                    <Turn message={message} sessionId={sessionId} isLast={index === messages.length - 1} />
                  </NamedHosts>
                </SurfaceProvider>
              </div>
            )}
          </Virtualizer>
        </div>
      </div>
      <AnswerStatus sessionId={sessionId} last={messages.at(-1)} />
      {away && <JumpToLatest onClick={follow} />}
    </div>
  );
}

/** Whether an answer is being written or how the last one ended, for screen readers. */
function AnswerStatus({ sessionId, last }: { sessionId?: string; last?: Message }) {
  const running = useStore((state) => sessionId !== undefined && state.conversations[sessionId]?.live !== undefined);
  return (
    <p className="sr-only" role="status">
      {running ? 'An answer is being written' : endOf(last)}
    </p>
  );
}

function JumpToLatest({ onClick }: { onClick: () => void }) {
  return (
    <button
      type="button"
      className="btn rise absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-over"
      onClick={onClick}
    >
      <ArrowDown size={14} aria-hidden /> Jump to latest
    </button>
  );
}

/** The index of the turn that a link points to; older pages are loaded until it is found. */
function useTurnAt(id: string | undefined, turn: string | undefined, messages: Message[]): number | undefined {
  const before = useStore((state) => (id ? state.conversations[id]?.before : undefined));
  const ready = useStore((state) => id !== undefined && state.conversations[id]?.phase === 'ready');
  const at = turn === undefined ? -1 : messages.findIndex((message) => holdsTurn(message, turn));
  useEffect(() => {
    // Without a connection this is tried again when the connection is back.
    if (id && turn !== undefined && ready && at < 0 && before !== undefined) void loadOlder(id).catch(() => undefined);
  }, [id, turn, ready, at, before]);
  return at < 0 ? undefined : at;
}

/** How the last answer ended, for screen readers. */
function endOf(message: Message | undefined): string {
  if (message?.kind !== 'answer') return '';
  if (message.state === 'cancelled') return 'The answer was stopped';
  if (message.state === 'error' || message.error) return 'The answer failed';
  return message.state === 'interrupted' ? 'The answer broke off' : 'The answer is complete';
}

/** The hosts that the person wrote in this conversation. */
function namedHosts(messages: Message[]): ReadonlySet<string> {
  return hostsIn(messages.flatMap((message) => (message.kind === 'words' ? [textOf(message.content)] : [])));
}
