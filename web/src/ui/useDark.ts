import { useSyncExternalStore } from 'react';
import { isDark, usePreferences } from '../store/preferences';

/** Whether the page is dark now, by the setting or by the system. */
export function useDark(): boolean {
  usePreferences((preferences) => preferences.theme);
  return useSyncExternalStore(subscribe, isDark);
}

function subscribe(changed: () => void): () => void {
  const query = matchMedia('(prefers-color-scheme: dark)');
  query.addEventListener('change', changed);
  return () => query.removeEventListener('change', changed);
}
