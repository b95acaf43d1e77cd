import { useEffect, useReducer, useState } from 'react';
import type { Fault } from '@onyx/sdk';
import { faultOf } from '../../../store/client';
import { useUnsaved } from '../../../ui/unsaved';
import { begin, isChanged, applyEdit, type EditedText, type Version, type TextEdit } from './editedText';

export interface TextEditing {
  edited: EditedText;
  tell: (edit: TextEdit) => void;
  changed: boolean;
  busy: boolean;
  fault?: Fault;
  save: () => Promise<boolean>;
}

/** Edits a text of the server; `found` is its newest version read so far. */
export function useEditedText(
  found: Version,
  put: (text: string, replaces: string) => Promise<string>,
  onConflict: () => void,
): TextEditing {
  const [edited, tell] = useReducer(applyEdit, found, begin);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault>();
  const changed = isChanged(edited);
  useEffect(() => tell({ type: 'read', found }), [found.version, found.text]);
  useUnsaved(changed);
  const save = async () => {
    const { mine, stored } = edited;
    if (mine === undefined || busy) return false;
    setBusy(true);
    try {
      tell({ type: 'saved', saved: { text: mine, version: await put(mine, stored.version) } });
      setFault(undefined);
      return true;
    } catch (error) {
      const why = faultOf(error);
      // The text was changed in the meantime: the newer text is read, and the person chooses.
      if (why.code === 'version_conflict') onConflict();
      else setFault(why);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { edited, tell, changed, busy, fault, save };
}
