import { useEffect, type KeyboardEvent } from 'react';

/** Makes the browser ask before a page with unsaved changes is closed. */
export function useUnsaved(changed: boolean): void {
  useEffect(() => {
    if (!changed) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [changed]);
}

/** For `onKeyDown`: ⌘S or Ctrl S saves here instead of saving the browser's page, if there are changes. */
export function savesByKey(save: (() => void) | false) {
  return (event: KeyboardEvent) => {
    if (!(event.metaKey || event.ctrlKey) || event.key !== 's') return;
    event.preventDefault();
    if (save) save();
  };
}
