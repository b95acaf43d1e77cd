import { useLayoutEffect } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { stop } from '../store/actions';
import { useStore } from '../store/state';
import { isWriting } from '../ui/keyboard';

const DOUBLE_MS = 600;

/** The app's shortcuts. Single letters do nothing in a text field. */
export function useKeys(open: { palette: () => void; shortcuts: () => void }): void {
  const navigate = useNavigate();
  // The keys work as soon as the page is on the screen.
  useLayoutEffect(() => {
    let escapedAt = 0;
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        return open.palette();
      }
      if (event.key === 'Escape' && !document.querySelector('dialog[open]')) {
        const { shown } = useStore.getState();
        const twice = event.timeStamp - escapedAt < DOUBLE_MS;
        escapedAt = event.timeStamp;
        if (twice && shown) void stop(shown);
        return;
      }
      if (
        event.metaKey ||
        event.ctrlKey ||
        event.altKey ||
        isWriting(event.target) ||
        document.querySelector('dialog[open]')
      )
        return;
      const acts: Record<string, () => void> = {
        n: () => void navigate({ to: '/chat' }),
        i: () => void navigate({ to: '/inbox' }),
        m: () => void navigate({ to: '/memory' }),
        s: () => void navigate({ to: '/spaces' }),
        ',': () => void navigate({ to: '/settings' }),
        '/': () => document.getElementById('composer')?.focus(),
        '?': open.shortcuts,
      };
      const act = acts[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [navigate, open]);
}
