// Saves what another app shared in a space instead of sending it.

import { useNavigate } from '@tanstack/react-router';
import { FolderInput } from 'lucide-react';
import { writeStored } from '../store/browserStorage';
import { onyx } from '../store/client';
import { useSpaces } from '../store/spaces';
import { toast } from '../store/state';
import { attempt } from '../ui/act';
import { Menu } from '../ui/Menu';
import { base64 } from './images';

const ADDRESS = /https?:\/\/\S+/;

/** Every part becomes a ref of the space: the address or words, and each file. */
async function capture(space: string, words: string | undefined, files: File[]): Promise<void> {
  const address = words && ADDRESS.exec(words)?.[0];
  if (address) await onyx.spaces.capture(space, { url: address });
  else if (words) await onyx.spaces.capture(space, { text: words });
  for (const file of files)
    await onyx.spaces.capture(space, { data: await base64(file), name: file.name, mediaType: file.type });
}

export default function KeepShared({ words, files = [] }: { words?: string; files?: File[] }) {
  const navigate = useNavigate();
  const spaces = useSpaces(({ list }) => list) ?? [];
  if (spaces.length === 0) return null;
  const put = async (space: string, name: string) => {
    const done = await attempt('Not saved', () => capture(space, words, files).then(() => true));
    if (!done) return;
    writeStored('onyx.draft.shared', undefined);
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
