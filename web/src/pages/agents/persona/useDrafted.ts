import { useEffect, useReducer, useState } from 'react';
import type { Fault } from '@onyx/sdk';
import { faultOf } from '../../../store/client';
import { useUnsaved } from '../../../ui/unsaved';
import { begin, isChanged, write, type Drafted, type Version, type Writing } from './drafted';

export interface DraftedText {
  drafted: Drafted;
  tell: (writing: Writing) => void;
  changed: boolean;
  busy: boolean;
  fault?: Fault;
  save: () => Promise<boolean>;
}

/** Edits a text of the server; `found` is its newest version read so far. */
export function useDrafted(
  found: Version,
  put: (text: string, replaces: string) => Promise<string>,
  onConflict: () => void,
): DraftedText {
  const [drafted, tell] = useReducer(write, found, begin);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault>();
  const changed = isChanged(drafted);
  useEffect(() => tell({ type: 'read', found }), [found.version, found.text]);
  useUnsaved(changed);
  const save = async () => {
    const { mine, stored } = drafted;
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
  return { drafted, tell, changed, busy, fault, save };
}
