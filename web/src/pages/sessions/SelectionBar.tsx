import { useState } from 'react';
import { Archive, ArchiveRestore, Tag as TagIcon, Trash2 } from 'lucide-react';
import type { SessionStatus } from '@onyx/sdk';
import { Tags } from '../../chat/Tags';
import { remove, setArchived, setTags } from '../../store/actions';
import { onyx } from '../../store/client';
import { toast, useStore } from '../../store/state';
import { Confirm } from '../../ui/Modal';
import { counted } from '../../ui/time';

/** The actions on all selected chats. */
export function SelectionBar({ ids, status, onDone }: { ids: string[]; status: SessionStatus; onDone: () => void }) {
  const [asking, setAsking] = useState(false);
  const [tagging, setTagging] = useState(false);
  const known = useStore((state) => state.sessions);
  const archived = status === 'archived';
  const none = ids.length === 0;
  const archive = async () => {
    for (const id of ids) await setArchived(id, !archived, 'quiet');
    toast(`${counted(ids.length, 'chat')} ${archived ? 'unarchived' : 'archived'}`);
    onDone();
  };
  const tagAll = async (tags?: string[]) => {
    setTagging(false);
    if (!tags || tags.length === 0) return;
    let tagged = 0;
    for (const id of ids) {
      const had = (known[id] ?? (await onyx.sessions.get(id).catch(() => undefined)))?.tags ?? [];
      if (await setTags(id, [...new Set([...had, ...tags])])) tagged += 1;
    }
    toast(`${counted(tagged, 'chat')} tagged`);
    onDone();
  };
  const removeAll = async (yes: boolean) => {
    setAsking(false);
    if (!yes) return;
    let removed = 0;
    for (const id of ids) if (await remove(id)) removed += 1;
    toast(`${counted(removed, 'chat')} deleted`);
    onDone();
  };
  return (
    <div
      role="toolbar"
      aria-label="Selected chats"
      className="card sticky top-0 z-10 mb-4 flex flex-wrap items-center gap-2 px-4 py-2"
    >
      <span className="min-w-0 flex-1" role="status">
        {none ? 'Select chats below' : `${counted(ids.length, 'chat')} selected`}
      </span>
      <button type="button" className="btn" disabled={none} onClick={() => void archive()}>
        {archived ? <ArchiveRestore size={15} aria-hidden /> : <Archive size={15} aria-hidden />}
        {archived ? 'Unarchive' : 'Archive'}
      </button>
      <button type="button" className="btn" disabled={none} onClick={() => setTagging(true)}>
        <TagIcon size={15} aria-hidden /> Tag
      </button>
      {tagging && <Tags label="Add tags" action="Add tags" given={[]} onAnswer={(tags) => void tagAll(tags)} />}
      <button type="button" className="btn btn-danger" disabled={none} onClick={() => setAsking(true)}>
        <Trash2 size={15} aria-hidden /> Delete
      </button>
      {asking && (
        <Confirm
          question={`Delete ${counted(ids.length, 'chat')}?`}
          detail="This deletes them permanently. Archive them instead to keep them."
          action="Delete"
          onAnswer={(yes) => void removeAll(yes)}
        />
      )}
    </div>
  );
}
