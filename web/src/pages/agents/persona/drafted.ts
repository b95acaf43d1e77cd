// A text that a person writes while somebody else may change it too. Pure: nothing typed is ever replaced unasked.

export interface Version {
  text: string;
  /** Names this very text. */
  version: string;
}

export interface Drafted {
  /** As it was last read, and what the next saving replaces. */
  stored: Version;
  /** What the person wrote and has not saved. */
  mine?: string;
  /** What came meanwhile, and waits for the person to choose. */
  theirs?: Version;
  /** The shown text came from elsewhere since the person last wrote. */
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
      // What was typed while it was being saved is not saved yet.
      return { stored: writing.saved, mine: mine === writing.saved.text ? undefined : mine, news: false };
    case 'take theirs':
      return theirs ? { stored: theirs, news: false } : drafted;
    case 'keep mine':
      return theirs ? { stored: theirs, mine, news: false } : drafted;
    case 'discard':
      return { stored: theirs ?? stored, news: false };
  }
}
