import { useEffect } from 'react';
import { useWaiting } from './useWaiting';

/** The icon of the installed app counts what waits, where the system shows that. */
export function useBadge(): void {
  const waiting = useWaiting();
  useEffect(() => {
    if (!('setAppBadge' in navigator)) return;
    const told = waiting > 0 ? navigator.setAppBadge(waiting) : navigator.clearAppBadge();
    // A browser may refuse where the app is not installed; the page counts too.
    told.catch(() => undefined);
  }, [waiting]);
}
