import { onyx } from '../store/client';
import { cleanName, LARGEST_FILE, storeBlob, underFreeName } from '../store/pictures';

/** A text or PDF that goes with a message: it is put into the vault, where agents read. */
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
    else refused.push(`${file.name} was not attached: images, texts up to 1 MB and PDFs up to 8 MB can be.`);
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

/** Where the files lie in the vault; nothing that lies there already is replaced. */
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

/** The words with what goes along, as agents read it. */
export function naming(words: string, paths: string[]): string {
  const list = paths.map((path) => NAMED + path).join('\n');
  return [words, list].filter(Boolean).join('\n\n');
}

/** What `naming` put together, taken apart again. */
export function attachedIn(message: string): { text: string; paths: string[] } {
  const lines = message.split('\n');
  let end = lines.length;
  while (end > 0 && lines[end - 1]?.startsWith(`${NAMED}${FOLDER}/`)) end -= 1;
  const paths = lines.slice(end).map((line) => line.slice(NAMED.length));
  return { text: paths.length === 0 ? message : lines.slice(0, end).join('\n').trimEnd(), paths };
}
