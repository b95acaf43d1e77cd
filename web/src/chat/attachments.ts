import { onyx } from '../store/client';
import { cleanName, LARGEST_FILE, storeBlob, underFreeName } from '../store/pictures';

/** A text or PDF attached to a message. It is saved in the vault, where agents can read it. */
export interface AttachedFile {
  name: string;
  content: string | Blob;
}

const FOLDER = 'attachments';
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

/** Saves the files in the vault and returns their paths. Existing files are not replaced. */
export async function store(files: AttachedFile[]): Promise<string[]> {
  const paths: string[] = [];
  for (const file of files) paths.push(await storeOne(file));
  return paths;
}

async function storeOne({ name, content }: AttachedFile): Promise<string> {
  if (typeof content !== 'string') return (await storeBlob(name, content)).slice('vault/'.length);
  return underFreeName(cleanName(name, 'text.txt'), async (free) => {
    const path = `${FOLDER}/${free}`;
    await onyx.memory.write(`vault/${path}`, content);
    return path;
  });
}

const NAMED = 'Attached: ';

/** The message text with the names of its files, as agents read it. */
export function naming(words: string, paths: string[]): string {
  const list = paths.map((path) => NAMED + path).join('\n');
  return [words, list].filter(Boolean).join('\n\n');
}

/** The inverse of `naming`. */
export function attachedIn(message: string): { text: string; paths: string[] } {
  const lines = message.split('\n');
  let end = lines.length;
  while (end > 0 && lines[end - 1]?.startsWith(`${NAMED}${FOLDER}/`)) end -= 1;
  const paths = lines.slice(end).map((line) => line.slice(NAMED.length));
  return { text: paths.length === 0 ? message : lines.slice(0, end).join('\n').trimEnd(), paths };
}
