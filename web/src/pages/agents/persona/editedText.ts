// A text that a person edits while an agent may change it too. Typed text is never replaced without asking. Pure.

export interface Version {
  text: string;
  /** The version of this text. */
  version: string;
}

export interface EditedText {
  /** The text as last read; the next save replaces it. */
  stored: Version;
  /** The person's unsaved text. */
  mine?: string;
  /** A newer text from elsewhere; the person has to choose. */
  theirs?: Version;
  /** True if the shown text came from elsewhere after the person's last edit. */
  news: boolean;
}

export type TextEdit =
  | { type: 'read'; found: Version }
  | { type: 'typed'; text: string }
  | { type: 'saved'; saved: Version }
  | { type: 'take theirs' | 'keep mine' | 'discard' };

export const begin = (stored: Version): EditedText => ({ stored, news: false });

export const textOf = ({ mine, stored }: EditedText): string => mine ?? stored.text;

export const isChanged = ({ mine, stored }: EditedText): boolean => mine !== undefined && mine !== stored.text;

export function applyEdit(edited: EditedText, edit: TextEdit): EditedText {
  const { stored, mine, theirs } = edited;
  switch (edit.type) {
    case 'read': {
      const { found } = edit;
      if (found.version === stored.version) return theirs ? { ...edited, theirs: undefined } : edited;
      if (found.version === theirs?.version) return edited;
      if (isChanged(edited) && mine !== found.text) return { ...edited, theirs: found };
      return { stored: found, news: mine !== found.text };
    }
    case 'typed':
      return { ...edited, mine: edit.text, news: false };
    case 'saved':
      // Text typed during the save is not saved yet.
      return { stored: edit.saved, mine: mine === edit.saved.text ? undefined : mine, news: false };
    case 'take theirs':
      return theirs ? { stored: theirs, news: false } : edited;
    case 'keep mine':
      return theirs ? { stored: theirs, mine, news: false } : edited;
    case 'discard':
      return { stored: theirs ?? stored, news: false };
  }
}
