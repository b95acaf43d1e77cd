import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { ArrowDown } from 'lucide-react';
import { Virtualizer, type VirtualizerHandle } from 'virtua';
import { loadOlder } from '../store/client';
import { NamedHosts, hostsIn } from '../markdown/namedHosts';
import { holdsTurn, textOf, type Message } from '../store/messages';
import { useStore } from '../store/state';
import { SurfaceProvider, type Density, type Surface } from './density';
import { Turn } from './Turn';
import { useMessages } from './useMessages';

/** A scroll position closer to the end than this counts as the end. */
const NEAR = 48;
const NEAR_TOP = 600;
/** The estimated height of a turn. A value that is too small draws many turns off the screen. */
const USUAL_HEIGHT = 140;

/** The turns of a conversation. Only those near the visible part are in the page. */
export function Conversation({
  sessionId,
  turn,
  found: foundByWords,
  density = 'page',
  again,
  takeBack,
  retrieved,
}: {
  sessionId?: string;
  /** The turn that a link points to. */
  turn?: string;
  /** The message that the search is at. */
  found?: number;
  density?: Density;
} & Omit<Surface, 'density' | 'latest'>) {
  const messages = useMessages(sessionId);
  const foundByTurn = useTurnAt(sessionId, turn, messages);
  const found = foundByWords ?? foundByTurn;
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const following = useRef(true);
  const [away, setAway] = useState(false);
  const older = useStore((state) => sessionId !== undefined && state.conversations[sessionId]?.older === true);
  const before = useStore((state) => (sessionId ? state.conversations[sessionId]?.before : undefined));
  const running = useStore((state) => sessionId !== undefined && state.conversations[sessionId]?.live !== undefined);

  const toEnd = useCallback(() => {
    const element = scroller.current;
    if (element) element.scrollTop = element.scrollHeight;
  }, []);
  const follow = () => {
    following.current = true;
    setAway(false);
    toEnd();
  };

  // A message that the person sends is always scrolled into view.
  const own = messages.findLast((message) => message.kind === 'words')?.id;
  const latest = density === 'thread' ? own : undefined;
  const surface = useMemo(
    () => ({ density, again, latest, takeBack, retrieved }),
    [density, again, latest, takeBack, retrieved],
  );
  const named = useMemo(() => namedHosts(messages), [own, sessionId]);
  useLayoutEffect(() => {
    following.current = true;
    setAway(false);
  }, [own, sessionId]);

  // Rows grow after they are drawn (highlighting, pictures, measured heights), so the end is kept in view.
  useLayoutEffect(() => {
    const element = scroller.current;
    const content = element?.firstElementChild;
    if (!element || !content) return;
    const observer = new ResizeObserver(() => following.current && toEnd());
    observer.observe(content);
    observer.observe(element);
    return () => observer.disconnect();
  }, [toEnd]);
  useLayoutEffect(() => {
    if (following.current) toEnd();
  }, [messages, toEnd]);
  useEffect(() => {
    if (found === undefined) return;
    following.current = false;
    list.current?.scrollToIndex(found, { align: 'center' });
  }, [found]);

  // The person scrolls up when the position changes and the length does not; growing text changes the length.
  const last = useRef({ top: 0, height: 0 });
  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    const { scrollTop: top, scrollHeight: height, clientHeight } = element;
    const movedUp = height === last.current.height && top < last.current.top - 1;
    last.current = { top, height };
    const atEnd = height - top - clientHeight < NEAR;
    if (movedUp) following.current = false;
    if (atEnd) following.current = true;
    setAway(!atEnd && !following.current);
    if (sessionId && before !== undefined && !older && top < NEAR_TOP) {
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
        onWheel={(event) => event.deltaY < 0 && (following.current = false)}
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
      <p className="sr-only" role="status">
        {running ? 'An answer is being written' : endOf(messages.at(-1))}
      </p>
      {away && (
        <button
          type="button"
          className="btn rise absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-over"
          onClick={follow}
        >
          <ArrowDown size={14} aria-hidden /> Jump to latest
        </button>
      )}
    </div>
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
