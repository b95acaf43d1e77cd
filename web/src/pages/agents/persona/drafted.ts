// A text that a person edits while an agent may change it too. Typed text is never replaced without asking. Pure.

export interface Version {
  text: string;
  /** The version of this text. */
  version: string;
}

export interface Drafted {
  /** The text as last read; the next save replaces it. */
  stored: Version;
  /** The person's unsaved text. */
  mine?: string;
  /** A newer text from elsewhere; the person has to choose. */
  theirs?: Version;
  /** True if the shown text came from elsewhere after the person's last edit. */
  news: boolean;
}

export type Writing =
  | { type: 'read'; found: Version }
  | { type: 'typed'; text: string }
  | { type: 'saved'; saved: Version }
  | { type: 'take theirs' | 'keep mine' | 'discard' };

export const begin = (stored: Version): Drafted => ({ stored, news: false });

export const textOf = ({ mine, stored }: Drafted): string => mine ?? stored.text;

export const isChanged = ({ mine, stored }: Drafted): boolean => mine !== undefined && mine !== stored.text;

export function write(drafted: Drafted, writing: Writing): Drafted {
  const { stored, mine, theirs } = drafted;
  switch (writing.type) {
    case 'read': {
      const { found } = writing;
      if (found.version === stored.version) return theirs ? { ...drafted, theirs: undefined } : drafted;
      if (found.version === theirs?.version) return drafted;
      if (isChanged(drafted) && mine !== found.text) return { ...drafted, theirs: found };
      return { stored: found, news: mine !== found.text };
    }
    case 'typed':
      return { ...drafted, mine: writing.text, news: false };
    case 'saved':
      // Text typed during the save is not saved yet.
      return { stored: writing.saved, mine: mine === writing.saved.text ? undefined : mine, news: false };
    case 'take theirs':
      return theirs ? { stored: theirs, news: false } : drafted;
    case 'keep mine':
      return theirs ? { stored: theirs, mine, news: false } : drafted;
    case 'discard':
      return { stored: theirs ?? stored, news: false };
  }
}
