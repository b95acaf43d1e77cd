import { useEffect } from 'react';

const EVERY_MS = 2_000;

/** Polls while something changes on the server and the page is visible. */
export function useLookedAt(isUnderWay: boolean, look: () => void): void {
  useEffect(() => {
    if (!isUnderWay) return;
    const lookNow = () => document.hidden || look();
    const timer = setInterval(lookNow, EVERY_MS);
    // A person who returns from another page sees the new state at once.
    document.addEventListener('visibilitychange', lookNow);
    return () => (clearInterval(timer), document.removeEventListener('visibilitychange', lookNow));
  }, [isUnderWay, look]);
}
