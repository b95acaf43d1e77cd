import { Diff } from '../../../chat/Diff';
import { unified } from '../../../ui/diff';
import type { Drafted, Writing } from './drafted';

/** What came while the person was writing: shown beside their words, which stay until they choose. */
export function Choice({ drafted, what, tell }: { drafted: Drafted; what: string; tell: (writing: Writing) => void }) {
  const { theirs, mine } = drafted;
  if (!theirs || mine === undefined) return null;
  return (
    <div role="status" className="overflow-hidden rounded-md border border-line border-l-3 border-l-warn">
      <p className="px-3 py-2 text-meta">
        <span className="text-warn">{what} was changed meanwhile.</span> What you wrote is still here and is not saved.
      </p>
      <Diff unified={unified(mine, theirs.text) || ' '} label="From your words to the new ones" />
      <div className="flex flex-wrap gap-2 border-t border-line px-3 py-2">
        <button type="button" className="btn" onClick={() => tell({ type: 'keep mine' })}>
          Keep mine
        </button>
        <button type="button" className="btn" onClick={() => tell({ type: 'take theirs' })}>
          Take the new one
        </button>
      </div>
    </div>
  );
}
