// Titles of threads, and the state of sources in words. Pure.

import type { Source, SourceProgress } from '@onyx/sdk';

const LONGEST_TITLE = 80;

/** A thread is named after the first line of its first message; it can be renamed later. */
export function titleFrom(words: string): string {
  const line = words.trim().split('\n')[0]?.trim() ?? '';
  if (line.length <= LONGEST_TITLE) return line;
  const cut = line.slice(0, LONGEST_TITLE);
  const space = cut.lastIndexOf(' ');
  return `${space > LONGEST_TITLE / 2 ? cut.slice(0, space).trimEnd() : cut}…`;
}

/** One line about the state of a source. */
export function stateOf(
  source: Source,
  progress: SourceProgress | undefined,
): { text: string; tone: 'plain' | 'warn' | 'danger' } {
  const count = source.documents.length;
  const documents = `${count} ${count === 1 ? 'document' : 'documents'}`;
  const failed = source.documents.filter((document) => document.error).length;
  switch (source.state) {
    case 'importing': {
      if (progress?.state !== 'importing') return { text: 'Importing', tone: 'plain' };
      const { done, total, current, failed: broken } = progress;
      const parts = [
        total ? `Importing ${done} of ${total}` : `Importing, ${done} so far`,
        broken > 0 && `${broken} failed`,
        current,
      ];
      return { text: parts.filter(Boolean).join(' · '), tone: 'plain' };
    }
    case 'interrupted':
      return { text: 'The import was interrupted. Sync it to continue.', tone: 'warn' };
    case 'ready':
      return { text: documents, tone: 'plain' };
    case 'partial':
      return { text: `${failed} of ${documents} could not be read`, tone: 'warn' };
    case 'failed':
      return { text: source.error ?? 'Nothing in it could be read', tone: 'danger' };
  }
}
