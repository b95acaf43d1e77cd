import { useEffect, useState } from 'react';
import type { Source, SourceProgress } from '@onyx/sdk';
import { onyx } from '../../store/client';

/** The progress of each running import; `ended` is called when one ends. */
export function useImports(sources: Source[] | undefined, ended: () => void): Record<string, SourceProgress> {
  const [progress, setProgress] = useState<Record<string, SourceProgress>>({});
  const importing =
    sources
      ?.filter((source) => source.state === 'importing')
      .map((source) => source.id)
      .join(' ') ?? '';
  useEffect(() => {
    if (importing === '') return;
    const abort = new AbortController();
    for (const id of importing.split(' ')) void follow(id, abort.signal);
    return () => abort.abort();

    async function follow(id: string, signal: AbortSignal): Promise<void> {
      try {
        for await (const now of onyx.sources.events(id, { signal })) setProgress((known) => ({ ...known, [id]: now }));
      } catch {
        // The source was removed, or the page was left; the list shows which.
      }
      if (!signal.aborted) ended();
    }
    // `ended` is the newest callback each time the list changes.
  }, [importing]);
  return progress;
}
