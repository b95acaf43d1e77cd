import { useEffect } from 'react';

const EVERY_MS = 2_000;

/** Looks again and again while something is under way elsewhere and the person may see it. */
export function useLookedAt(isUnderWay: boolean, look: () => void): void {
  useEffect(() => {
    if (!isUnderWay) return;
    const lookNow = () => document.hidden || look();
    const timer = setInterval(lookNow, EVERY_MS);
    // Who comes back from another page sees at once what came of it.
    document.addEventListener('visibilitychange', lookNow);
    return () => (clearInterval(timer), document.removeEventListener('visibilitychange', lookNow));
  }, [isUnderWay, look]);
}
