import { useEffect } from 'react';
import { useWaiting } from './useWaiting';

/** Shows the number of waiting decisions on the icon of the installed app. */
export function useBadge(): void {
  const waiting = useWaiting();
  useEffect(() => {
    if (!('setAppBadge' in navigator)) return;
    const told = waiting > 0 ? navigator.setAppBadge(waiting) : navigator.clearAppBadge();
    // A browser may refuse if the app is not installed; the page shows the number too.
    told.catch(() => undefined);
  }, [waiting]);
}
