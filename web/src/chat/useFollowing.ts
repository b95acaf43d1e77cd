import { useCallback, useLayoutEffect, useRef, useState } from 'react';
import type { Message } from '../store/messages';

/** A scroll position closer to the end than this counts as the end. */
const NEAR = 48;

/**
 * Keeps the end of a conversation in view until the person scrolls up. A new message of their own (`own`) and another
 * conversation scroll to the end again.
 */
export function useFollowing(messages: Message[], own: string | undefined, sessionId: string | undefined) {
  const scroller = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const [away, setAway] = useState(false);
  const toEnd = useCallback(() => {
    const element = scroller.current;
    if (element) element.scrollTop = element.scrollHeight;
  }, []);
  const follow = () => {
    following.current = true;
    setAway(false);
    toEnd();
  };
  const stopFollowing = () => {
    following.current = false;
  };

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

  // The person scrolls up when the position changes and the length does not; growing text changes the length.
  const last = useRef({ top: 0, height: 0 });
  const notePosition = ({ scrollTop: top, scrollHeight: height, clientHeight }: HTMLElement) => {
    const movedUp = height === last.current.height && top < last.current.top - 1;
    last.current = { top, height };
    const atEnd = height - top - clientHeight < NEAR;
    if (movedUp) following.current = false;
    if (atEnd) following.current = true;
    setAway(!atEnd && !following.current);
  };

  return {
    scroller,
    /** Whether the end is out of view and not followed. */
    away,
    follow,
    stopFollowing,
    /** Decides after each scroll whether the end is still followed. */
    notePosition,
  };
}
