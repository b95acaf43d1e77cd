// What another app shared: it waits in the composer, or is kept in a space instead.

import { useEffect, useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { FolderInput } from 'lucide-react';
import { keep } from '../store/kept';
import { onyx } from '../store/client';
import { useSpaces } from '../store/spaces';
import { toast } from '../store/state';
import { attempt } from '../ui/act';
import { Menu } from '../ui/Menu';
import { base64 } from './images';

/** Where the service worker puts what is shared. */
const CACHE = 'shared-files';

/** The files that were shared, taken out of where they wait. */
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

const ADDRESS = /https?:\/\/\S+/;

/** Every part becomes a ref of the space: the address or words, and each file. */
async function capture(space: string, words: string | undefined, files: File[]): Promise<void> {
  const address = words && ADDRESS.exec(words)?.[0];
  if (address) await onyx.spaces.capture(space, { url: address });
  else if (words) await onyx.spaces.capture(space, { text: words });
  for (const file of files)
    await onyx.spaces.capture(space, { data: await base64(file), name: file.name, mediaType: file.type });
}

export function KeepShared({ words, files = [] }: { words?: string; files?: File[] }) {
  const navigate = useNavigate();
  const spaces = useSpaces(({ list }) => list) ?? [];
  if (spaces.length === 0) return null;
  const put = async (space: string, name: string) => {
    const done = await attempt('Not kept', () => capture(space, words, files).then(() => true));
    if (!done) return;
    keep('onyx.draft.shared', undefined);
    toast(`Kept in ${name}`);
    await navigate({ to: '/spaces/$space/$place', params: { space, place: 'refs' } });
  };
  return (
    <Menu
      label="Keep in a space instead"
      className="btn mt-4"
      entries={spaces.map(({ id, name }) => ({ label: name, run: () => void put(id, name) }))}
    >
      <FolderInput size={15} aria-hidden />
      <span>Keep in a space instead</span>
    </Menu>
  );
}
