// What another app shared; it is offered in the composer.

import { useEffect, useState } from 'react';
import { toast } from '../store/state';

/** The cache in which the service worker puts shared files. */
const CACHE = 'shared-files';

/** Takes the shared files out of that cache. */
export function useSharedFiles(expected: boolean): File[] | undefined {
  const [files, setFiles] = useState<File[]>();
  useEffect(() => {
    if (!expected) return;
    void take()
      .then((taken) => taken.length > 0 && setFiles(taken))
      .catch(() => toast('The shared files cannot be read.', { tone: 'danger' }));
  }, [expected]);
  return files;
}

async function take(): Promise<File[]> {
  const cache = await caches.open(CACHE);
  const files: File[] = [];
  for (const request of await cache.keys()) {
    const kept = await cache.match(request);
    await cache.delete(request);
    if (!kept) continue;
    const blob = await kept.blob();
    const name = decodeURIComponent(kept.headers.get('x-name') ?? 'file');
    files.push(new File([blob], name, { type: kept.headers.get('content-type') ?? blob.type }));
  }
  return files;
}
