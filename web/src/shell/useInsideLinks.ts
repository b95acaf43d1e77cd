import { useEffect } from 'react';
import { useRouter } from '@tanstack/react-router';

/** Follows plain links in texts with the router, so that the app is not reloaded. */
export function useInsideLinks(): void {
  const router = useRouter();
  useEffect(() => {
    const onClick = (event: MouseEvent) => {
      const link = (event.target as Element).closest?.('a[data-inside]');
      if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      router.history.push(link.getAttribute('href') ?? '/');
    };
    document.addEventListener('click', onClick);
    return () => document.removeEventListener('click', onClick);
  }, [router]);
}
