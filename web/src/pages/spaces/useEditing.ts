import { useCallback, useEffect, useRef, useState } from 'react';
import { OnyxError, type Entity, type EntityPlace } from '@onyx/sdk';
import { faultOf, onyx } from '../../store/client';
import { writeStored, readStored } from '../../store/browserStorage';
import { useStore } from '../../store/state';
import {
  failed,
  isConflict,
  opened,
  overTheirs,
  reread,
  saved,
  saving,
  shownText,
  unsavedOf,
  type Editing,
  type Text,
  type Unsaved,
} from './editing';

/** The pause after the last keystroke before a text is saved automatically. */
const IDLE_MS = 1_000;

export interface Editor {
  editing: Editing;
  change: (step: (editing: Editing) => Editing) => void;
  /** Saves; returns whether it succeeded. `over`: the person chose to overwrite the server's version. */
  save: (over?: 'over') => Promise<boolean>;
  /** Saves what is typed, also while an automatic save is under way; returns whether everything is saved. */
  saveAll: () => Promise<boolean>;
}

/** True if there are changes to save and no conflict to decide first. */
export const maySave = (editing: Editing) =>
  editing.mine !== undefined && !isConflict(editing) && !editing.saving && shownText(editing).title.trim() !== '';

/** Edits an entity. The text is saved automatically, and survives leaving the page and closing the browser. */
export function useEditing(space: string, place: EntityPlace, entity: Entity): Editor {
  const key = `onyx.unsaved.${space}/${place}/${entity.id}`;
  const [editing, setEditing] = useState(() => opened(entity, readStored<Unsaved | undefined>(key, undefined)));
  // A key may be pressed between a change and its drawing, so saving reads the newest state from here.
  const newest = useRef(editing);
  const change = useCallback((step: (known: Editing) => Editing) => {
    newest.current = step(newest.current);
    setEditing(newest.current);
  }, []);
  // While a save is under way, what is read may be from before it or from it: it is read again afterwards.
  const missed = useRef(false);
  useEffect(
    () =>
      change((known) => {
        if (known.saving) missed.current = true;
        const isOlder = Date.parse(entity.updatedAt) < Date.parse(known.theirs.updatedAt);
        return known.saving || isOlder || known.theirs.version === entity.version ? known : reread(known, entity);
      }),
    [entity],
  );
  const unsaved = unsavedOf(editing);
  useEffect(() => writeStored(key, unsaved), [key, unsaved?.title, unsaved?.body, unsaved?.version]);
  const write = useCallback(
    async (over?: 'over') => {
      const begun = over ? overTheirs(newest.current) : newest.current;
      change(() => saving(begun));
      const sent = shownText(begun);
      try {
        missed.current = false;
        const written = await onyx.spaces.change(space, place, entity.id, sent, begun.base);
        change((known) => saved(known, written, sent));
        forgetSaved(key, sent);
        if (!missed.current) return true;
        const theirs = await onyx.spaces.entity(space, place, entity.id).catch(() => written);
        change((known) => (known.saving || theirs.version === known.theirs.version ? known : reread(known, theirs)));
        return true;
      } catch (error) {
        if (!(error instanceof OnyxError) || error.code !== 'version_conflict') {
          change((known) => failed(known, faultOf(error)));
          return false;
        }
        // The entity was changed in the meantime: that version is read, and both are shown.
        await onyx.spaces.entity(space, place, entity.id).then(
          (theirs) => change((known) => ({ ...reread(known, theirs), saving: false })),
          (why: unknown) => change((known) => failed(known, faultOf(why))),
        );
        return false;
      }
    },
    [space, place, entity.id, key, change],
  );
  const underWay = useRef(Promise.resolve(true));
  const save = useCallback((over?: 'over') => (underWay.current = write(over)), [write]);
  const saveAll = useCallback(async () => {
    while (newest.current.saving) await underWay.current;
    return maySave(newest.current) ? save() : newest.current.mine === undefined;
  }, [save]);
  useAutosave(editing, save);
  return { editing, change, save, saveAll };
}

/** The page may be closed before its last change is saved. */
function forgetSaved(key: string, sent: Text): void {
  const left = readStored<Unsaved | undefined>(key, undefined);
  if (left?.title === sent.title && left.body === sent.body) writeStored(key, undefined);
}

/** Saves after a pause, when the page is hidden or left, and when the connection is back. */
function useAutosave(editing: Editing, save: Editor['save']): void {
  const online = useStore((state) => state.link === 'online');
  const latest = useRef({ editing, save });
  latest.current = { editing, save };
  const { mine } = editing;
  useEffect(() => {
    // A save that the server refused waits for the person; one without a connection waits for the connection.
    const isRefused = editing.fault !== undefined && editing.fault.code !== 'offline';
    if (!online || isRefused || !maySave(editing)) return;
    const timer = setTimeout(() => void save(), IDLE_MS);
    return () => clearTimeout(timer);
  }, [mine?.title, mine?.body, editing.saving, editing.base, online]);
  useEffect(() => {
    const now = () => {
      if (maySave(latest.current.editing)) void latest.current.save();
    };
    const onHidden = () => document.hidden && now();
    document.addEventListener('visibilitychange', onHidden);
    return () => {
      document.removeEventListener('visibilitychange', onHidden);
      now();
    };
  }, []);
}
