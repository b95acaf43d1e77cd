// A text that is edited here while it may change elsewhere. Typed text is never replaced without asking. Pure.

import type { Entity, Fault } from '@onyx/sdk';

export interface Text {
  title: string;
  body: string;
}

export interface Editing {
  /** The server's version, when it was last read. */
  theirs: Entity;
  /** The version that the person's own text is based on. */
  base: string;
  mine?: Text;
  saving: boolean;
  fault?: Fault;
}

/** The part that the browser keeps between visits. */
export interface Unsaved extends Text {
  version: string;
}

export const textOfEntity = (entity: Entity): Text => ({ title: entity.title, body: entity.body ?? '' });
const isSame = (a: Text, b: Text) => a.title === b.title && a.body === b.body;

/** The shown text. */
export const shownText = ({ mine, theirs }: Editing): Text => mine ?? textOfEntity(theirs);

/** Whether the text was changed here and elsewhere, with different results. */
export const isConflict = ({ mine, base, theirs }: Editing) => mine !== undefined && base !== theirs.version;

export function unsavedOf({ mine, base }: Editing): Unsaved | undefined {
  return mine && { ...mine, version: base };
}

/** Drops the person's own text if the server has the same. */
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

/** Takes over the server's version after it was read again. */
export function reread(editing: Editing, theirs: Entity): Editing {
  // A change of other fields (status, tags) does not change the text.
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
 * Called when the sent text is saved; text typed since then stays unsaved. The server may store other line ends at the
 * end of the text; the sent text still counts as saved and is not sent again.
 */
export function saved(editing: Editing, theirs: Entity, sent: Text): Editing {
  const mine = editing.mine && isSame(editing.mine, sent) ? undefined : editing.mine;
  return settle({ ...editing, mine, theirs, base: theirs.version, saving: false, fault: undefined });
}

export function failed(editing: Editing, fault: Fault): Editing {
  return { ...editing, saving: false, fault };
}

/** The person has seen the server's version, so their own may replace it. */
export function overTheirs(editing: Editing): Editing {
  return settle({ ...editing, base: editing.theirs.version, fault: undefined });
}

export function discarded(editing: Editing): Editing {
  return { ...editing, mine: undefined, base: editing.theirs.version, fault: undefined };
}
