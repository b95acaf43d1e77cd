import { Diff } from '../../../chat/Diff';
import { lineDiff } from '../../../ui/diff';
import type { EditedText, TextEdit } from './editedText';

/** A change from elsewhere while the person was writing. Both versions stay until the person chooses one. */
export function Choice({ edited, what, tell }: { edited: EditedText; what: string; tell: (edit: TextEdit) => void }) {
  const { theirs, mine } = edited;
  if (!theirs || mine === undefined) return null;
  return (
    <div role="status" className="overflow-hidden rounded-md border border-line border-l-3 border-l-warn">
      <p className="px-3 py-2 text-meta">
        <span className="text-warn">{what} was changed elsewhere.</span> Your version is still here and is not saved.
      </p>
      <Diff lines={lineDiff(mine, theirs.text)} label="What the new version changes in yours" />
      <div className="flex flex-wrap gap-2 border-t border-line px-3 py-2">
        <button type="button" className="btn" onClick={() => tell({ type: 'keep mine' })}>
          Keep mine
        </button>
        <button type="button" className="btn" onClick={() => tell({ type: 'take theirs' })}>
          Use the new version
        </button>
      </div>
    </div>
  );
}
