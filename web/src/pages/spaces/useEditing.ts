import { useCallback, useEffect, useState } from 'react';
import { OnyxError, type Entity, type EntityPlace } from '@onyx/sdk';
import { faultOf, onyx } from '../../store/client';
import { keep, readKept } from '../../store/kept';
import { toast } from '../../store/state';
import {
  failed,
  opened,
  overTheirs,
  reread,
  saved,
  saving,
  shownText,
  unsavedOf,
  type Editing,
  type Unsaved,
} from './editing';

export interface Editor {
  editing: Editing;
  change: (step: (editing: Editing) => Editing) => void;
  /** `over`: theirs was looked at, and one's own follows it. */
  save: (over?: 'over') => Promise<void>;
}

/** An entity under the person's hands. What they wrote survives leaving the page, and the browser. */
export function useEditing(space: string, place: EntityPlace, entity: Entity): Editor {
  const key = `onyx.unsaved.${space}/${place}/${entity.id}`;
  const [editing, change] = useState(() => opened(entity, readKept<Unsaved | undefined>(key, undefined)));
  useEffect(
    () => change((known) => (known.theirs.version === entity.version ? known : reread(known, entity))),
    [entity],
  );
  const unsaved = unsavedOf(editing);
  useEffect(() => keep(key, unsaved), [key, unsaved?.title, unsaved?.body, unsaved?.version]);
  const save = useCallback(
    async (over?: 'over') => {
      const begun = over ? overTheirs(editing) : editing;
      change(() => saving(begun));
      try {
        const { title, body } = shownText(begun);
        const written = await onyx.spaces.change(space, place, entity.id, { title, body }, begun.base);
        change((known) => saved(known, written));
        toast('Saved');
      } catch (error) {
        if (!(error instanceof OnyxError) || error.code !== 'version_conflict')
          return change((known) => failed(known, faultOf(error)));
        // Somebody was faster: theirs is read, and both stand side by side.
        await onyx.spaces.entity(space, place, entity.id).then(
          (theirs) => change((known) => ({ ...reread(known, theirs), saving: false })),
          (why: unknown) => change((known) => failed(known, faultOf(why))),
        );
      }
    },
    [editing, space, place, entity.id],
  );
  return { editing, change, save };
}
