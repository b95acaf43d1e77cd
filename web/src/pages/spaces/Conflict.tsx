import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Diff } from '../../chat/Diff';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { lineDiff } from '../../ui/diff';
import { discarded, shownText, textOfEntity } from './editing';
import type { PlaceOf } from './places';
import type { Editor } from './useEditing';

const flat = ({ title, body }: { title: string; body: string }) => `# ${title}\n\n${body}`;

/** The entity was changed here and elsewhere: both versions are kept until the person chooses. */
export function Conflict({ editor, place }: { editor: Editor; place: PlaceOf }) {
  const { editing, change, save } = editor;
  const { theirs } = editing;
  const mine = shownText(editing);
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const keepBoth = async () => {
    setBusy(true);
    const { space } = theirs;
    const made = await attempt('Your version was not saved separately', () =>
      onyx.spaces.add(space, place.place, {
        title: `${mine.title} (my version)`.slice(0, 300),
        body: mine.body,
        tags: theirs.tags,
        status: theirs.status ?? undefined,
      }),
    );
    setBusy(false);
    if (!made) return;
    change(discarded);
    toast(`Your version is saved as “${made.title}”`, {
      action: {
        label: 'Open',
        run: () =>
          void navigate({
            to: '/spaces/$space/$place/$entity',
            params: { space, place: place.place, entity: made.id },
          }),
      },
    });
  };
  return (
    <section role="alert" aria-label="Changed elsewhere" className="card border-l-3 border-l-warn">
      <p className="px-3.5 py-2.5">
        <span className="font-semibold">Changed elsewhere while you were writing.</span>{' '}
        <span className="meta">Both versions are kept. This is what yours changes.</span>
      </p>
      <Diff lines={lineDiff(flat(textOfEntity(theirs)), flat(mine))} label="What your version changes in theirs" />
      <div className="flex flex-wrap items-center gap-2 border-t border-line px-3.5 py-2.5">
        <button
          type="button"
          className="btn btn-primary"
          disabled={busy || editing.saving}
          onClick={() => void save('over')}
        >
          Overwrite with mine
        </button>
        <button type="button" className="btn" disabled={busy} onClick={() => void keepBoth()}>
          Keep both
        </button>
        <button type="button" className="btn" disabled={busy} onClick={() => change(discarded)}>
          Use theirs
        </button>
      </div>
    </section>
  );
}
