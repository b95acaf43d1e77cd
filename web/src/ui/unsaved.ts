import { useEffect, type KeyboardEvent } from 'react';

/** The browser asks before a page goes whose words are not saved. */
export function useUnsaved(changed: boolean): void {
  useEffect(() => {
    if (!changed) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [changed]);
}

/** For `onKeyDown`: ⌘S or Ctrl S saves here instead of the browser's page; nothing where there is nothing to save. */
export function savesByKey(save: (() => void) | false) {
  return (event: KeyboardEvent) => {
    if (!(event.metaKey || event.ctrlKey) || event.key !== 's') return;
    event.preventDefault();
    if (save) save();
  };
}
