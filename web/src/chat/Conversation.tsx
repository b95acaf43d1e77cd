import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { ArrowDown } from 'lucide-react';
import { Virtualizer, type VirtualizerHandle } from 'virtua';
import { loadOlder } from '../store/client';
import { GivenHosts, hostsIn } from '../markdown/given';
import { holdsTurn, textOf, type Message } from '../store/messages';
import { useStore } from '../store/state';
import { SurfaceProvider, type Density, type Surface } from './density';
import { Turn } from './Turn';
import { useMessages } from './useMessages';

/** Nearer to the end than this is at the end. */
const NEAR = 48;
const NEAR_TOP = 600;
/** A guess at a turn's height: too small a one draws many that nobody sees. */
const USUAL_HEIGHT = 140;

/** The turns of a conversation, only those near the screen in the page. */
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
  /** The turn somebody came for. */
  turn?: string;
  /** Which message was found by its words. */
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

  // Own words are always shown, wherever one was reading.
  const own = messages.findLast((message) => message.kind === 'words')?.id;
  const latest = density === 'thread' ? own : undefined;
  const surface = useMemo(
    () => ({ density, again, latest, takeBack, retrieved }),
    [density, again, latest, takeBack, retrieved],
  );
  const given = useMemo(() => givenHosts(messages), [own, sessionId]);
  useLayoutEffect(() => {
    following.current = true;
    setAway(false);
  }, [own, sessionId]);

  // Rows grow after they are drawn (highlighting, pictures, measured heights): the end is kept in sight.
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

  // A person scrolls up when the place moves and the length does not; growing text never does.
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
      // Without a connection it is tried again at the next turn of the wheel.
      void loadOlder(sessionId).catch(() => undefined);
    }
  };

  return (
    // A panel is as high as what it says, up to a point; other places have a height of their own.
    <div className={`relative min-h-0 ${density === 'ephemeral' ? 'flex flex-col' : 'flex-1'}`}>
      <div
        ref={scroller}
        className={`${density === 'ephemeral' ? '' : 'h-full'} overflow-y-auto overscroll-contain px-4 py-4 [overflow-anchor:none] ${density === 'page' ? 'md:px-6 md:py-6' : ''}`}
        data-density={density}
        onScroll={onScroll}
        // A turn of the wheel may be smaller than the end is wide: its direction alone says enough.
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
                  <GivenHosts value={given}>
                    <Turn message={message} sessionId={sessionId} isLast={index === messages.length - 1} />
                  </GivenHosts>
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

/** Where in the conversation a turn stands that somebody came for; what is older is read until it is there. */
function useTurnAt(id: string | undefined, turn: string | undefined, messages: Message[]): number | undefined {
  const before = useStore((state) => (id ? state.conversations[id]?.before : undefined));
  const ready = useStore((state) => id !== undefined && state.conversations[id]?.phase === 'ready');
  const at = turn === undefined ? -1 : messages.findIndex((message) => holdsTurn(message, turn));
  useEffect(() => {
    // Without a connection it is tried again when that is back.
    if (id && turn !== undefined && ready && at < 0 && before !== undefined) void loadOlder(id).catch(() => undefined);
  }, [id, turn, ready, at, before]);
  return at < 0 ? undefined : at;
}

/** How the last answer ended, for those who do not see it. */
function endOf(message: Message | undefined): string {
  if (message?.kind !== 'answer') return '';
  if (message.state === 'cancelled') return 'The answer was stopped';
  if (message.state === 'error' || message.error) return 'The answer failed';
  return message.state === 'interrupted' ? 'The answer broke off' : 'The answer is complete';
}

/** The hosts that the person wrote in this conversation. */
function givenHosts(messages: Message[]): ReadonlySet<string> {
  return hostsIn(messages.flatMap((message) => (message.kind === 'words' ? [textOf(message.content)] : [])));
}
