// A text that is edited here while others may change it elsewhere. Nothing written is ever replaced unseen. Pure.

import type { Entity, Fault } from '@onyx/sdk';

export interface Text {
  title: string;
  body: string;
}

export interface Editing {
  /** As the server has it, when it was last asked. */
  theirs: Entity;
  /** The version from which one's own was begun. */
  base: string;
  mine?: Text;
  saving: boolean;
  fault?: Fault;
}

/** What the browser keeps of it between visits. */
export interface Unsaved extends Text {
  version: string;
}

export const textOfEntity = (entity: Entity): Text => ({ title: entity.title, body: entity.body ?? '' });
const isSame = (a: Text, b: Text) => a.title === b.title && a.body === b.body;

/** The text on the screen. */
export const shownText = ({ mine, theirs }: Editing): Text => mine ?? textOfEntity(theirs);

/** It was changed here and elsewhere, to different ends. */
export const isConflict = ({ mine, base, theirs }: Editing) => mine !== undefined && base !== theirs.version;

export function unsavedOf({ mine, base }: Editing): Unsaved | undefined {
  return mine && { ...mine, version: base };
}

/** One's own text, unless it is what the server has anyway. */
function settle(editing: Editing): Editing {
  const { mine, theirs } = editing;
  return mine === undefined || isSame(mine, textOfEntity(theirs))
    ? { ...editing, mine: undefined, base: theirs.version }
    : editing;
}

export function opened(entity: Entity, unsaved?: Unsaved): Editing {
  const mine = unsaved && { title: unsaved.title, body: unsaved.body };
  return settle({ theirs: entity, base: unsaved?.version ?? entity.version, mine, saving: false });
}

/** The server's text was read again. */
export function reread(editing: Editing, theirs: Entity): Editing {
  // A change of something else (status, tags) is no change of the text.
  const isTextSame = isSame(textOfEntity(editing.theirs), textOfEntity(theirs));
  const base = isTextSame && editing.base === editing.theirs.version ? theirs.version : editing.base;
  return settle({ ...editing, theirs, base });
}

export function wrote(editing: Editing, change: Partial<Text>): Editing {
  return settle({ ...editing, mine: { ...shownText(editing), ...change } });
}

export function saving(editing: Editing): Editing {
  return { ...editing, saving: true, fault: undefined };
}

/**
 * What was sent is saved; what was written since is still one's own. The server may keep a text with other line ends at
 * its end: what was sent is saved all the same, and is not sent again.
 */
export function saved(editing: Editing, theirs: Entity, sent: Text): Editing {
  const mine = editing.mine && isSame(editing.mine, sent) ? undefined : editing.mine;
  return settle({ ...editing, mine, theirs, base: theirs.version, saving: false, fault: undefined });
}

export function failed(editing: Editing, fault: Fault): Editing {
  return { ...editing, saving: false, fault };
}

/** Theirs was looked at: one's own may follow it. */
export function overTheirs(editing: Editing): Editing {
  return settle({ ...editing, base: editing.theirs.version, fault: undefined });
}

export function discarded(editing: Editing): Editing {
  return { ...editing, mine: undefined, base: editing.theirs.version, fault: undefined };
}
