import { OnyxError } from '@onyx/sdk';
import { onyx } from '../store/client';

/** A text that goes with a message: it is put into the vault, where agents read. */
export interface TextFile {
  name: string;
  text: string;
}

const FOLDER = 'attachments';
const LARGEST = 1024 * 1024;
const MOST_NAMES = 50;

export async function readTexts(files: Iterable<File>): Promise<{ texts: TextFile[]; refused: string[] }> {
  const texts: TextFile[] = [];
  const refused: string[] = [];
  for (const file of files) {
    const text = file.size > LARGEST ? undefined : decoded(await file.arrayBuffer());
    if (text !== undefined) texts.push({ name: file.name, text });
    else refused.push(`${file.name} was not attached: images and texts of at most 1 MB can be.`);
  }
  return { texts, refused };
}

function decoded(bytes: ArrayBuffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Where the texts lie in the vault; nothing that lies there already is replaced. */
export async function store(texts: TextFile[]): Promise<string[]> {
  const paths: string[] = [];
  for (const text of texts) paths.push(await storeOne(text));
  return paths;
}

async function storeOne({ name, text }: TextFile): Promise<string> {
  const clean =
    name
      .replace(/[^\p{L}\p{N}._-]+/gu, '-')
      .replace(/^[.-]+/, '')
      .slice(-100) || 'text.txt';
  const dot = clean.lastIndexOf('.');
  const [stem, end] = dot > 0 ? [clean.slice(0, dot), clean.slice(dot)] : [clean, ''];
  for (let number = 1; ; number += 1) {
    const path = `${FOLDER}/${stem}${number === 1 ? '' : `-${number}`}${end}`;
    try {
      await onyx.memory.write(`vault/${path}`, text);
      return path;
    } catch (error) {
      if (!(error instanceof OnyxError) || error.code !== 'version_conflict' || number === MOST_NAMES) throw error;
    }
  }
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
