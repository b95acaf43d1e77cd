import type { UserPart } from '@onyx/sdk';
import { onyx } from '../store/client';
import { cleanName, FOLDER, LARGEST_FILE, storeBlob, underFreeName } from '../store/pictures';

/** A text or PDF attached to a message. It is saved in the vault, where agents can read it. */
export interface AttachedFile {
  name: string;
  content: string | Blob;
}

const LARGEST = 1024 * 1024;

export async function readFiles(files: Iterable<File>): Promise<{ files: AttachedFile[]; refused: string[] }> {
  const read: AttachedFile[] = [];
  const refused: string[] = [];
  for (const file of files) {
    const isPdf = file.type === 'application/pdf' && file.size <= LARGEST_FILE;
    const content = isPdf ? file : file.size > LARGEST ? undefined : decoded(await file.arrayBuffer());
    if (content !== undefined) read.push({ name: file.name, content });
    else refused.push(`${file.name} was not attached. Attach images, text files up to 1 MB or PDFs up to 8 MB.`);
  }
  return { files: read, refused };
}

function decoded(bytes: ArrayBuffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

export type FilePart = Extract<UserPart, { type: 'file' }>;

/** Saves the files in the vault and returns them as parts of a message. Existing files are not replaced. */
export async function store(files: AttachedFile[]): Promise<FilePart[]> {
  const parts: FilePart[] = [];
  for (const file of files) parts.push(await storeOne(file));
  return parts;
}

async function storeOne({ name, content }: AttachedFile): Promise<FilePart> {
  if (typeof content !== 'string')
    return { type: 'file', name, mediaType: content.type, key: await storeBlob(name, content) };
  return underFreeName(cleanName(name, 'text.txt'), async (free) => {
    const key = `${FOLDER}/${free}`;
    await onyx.memory.write(key, content);
    return { type: 'file', name, mediaType: 'text/plain', key };
  });
}
