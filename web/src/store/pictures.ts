// Pictures and other binary files of the person: saved in the vault, and read from the server with the person's
// credential.

import { OnyxError } from '@onyx/sdk';
import { onyx } from './client';

/** Where files that go with a message are kept. */
export const FOLDER = 'vault/attachments';
const MOST_NAMES = 200;
/** The server refuses larger files. */
export const LARGEST_FILE = 8 * 1024 * 1024;

const KINDS: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
};

export const kindOfFile = (path: string) => KINDS[path.split('.').pop()?.toLowerCase() ?? ''];

/** Loads a file as a blob with the type that its name implies. */
export async function readBlob(path: string): Promise<Blob> {
  const bytes = await onyx.memory.bytes(path);
  return new Blob([bytes], { type: kindOfFile(path) ?? 'application/octet-stream' });
}

const urls = new Map<string, Promise<string>>();
const MOST_URLS = 100;

/** An address of this page's own for a picture among the person's files. */
export function pictureUrl(path: string): Promise<string> {
  const known = urls.get(path);
  if (known) return known;
  const asked = readBlob(path).then((blob) => URL.createObjectURL(blob));
  urls.set(path, asked);
  asked.catch(() => urls.delete(path));
  forgetOldest();
  return asked;
}

function forgetOldest(): void {
  const [oldest] = urls;
  if (urls.size <= MOST_URLS || !oldest) return;
  urls.delete(oldest[0]);
  void oldest[1].then((url) => URL.revokeObjectURL(url));
}

/** A name that is valid on every file system. */
export const cleanName = (name: string, fallback: string) =>
  name
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[.-]+/, '')
    .slice(-100) || fallback;

/** `name.png`, `name-2.png` and so on, until one is free. */
export async function underFreeName<T>(name: string, act: (name: string) => Promise<T>): Promise<T> {
  const dot = name.lastIndexOf('.');
  const [stem, end] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  for (let number = 1; ; number += 1) {
    try {
      return await act(`${stem}${number === 1 ? '' : `-${number}`}${end}`);
    } catch (error) {
      if (!(error instanceof OnyxError) || error.code !== 'version_conflict' || number === MOST_NAMES) throw error;
    }
  }
}

/** Saves the file in the vault and returns its path. */
export function storeBlob(name: string, blob: Blob): Promise<string> {
  return underFreeName(cleanName(name, 'file'), async (free) => {
    const path = `${FOLDER}/${free}`;
    await onyx.memory.writeBytes(path, blob);
    return path;
  });
}
