import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ChevronLeft } from 'lucide-react';
import type { Entity, EntityChange } from '@onyx/sdk';
import { PageLinks } from '../../markdown/inline';
import { Markdown } from '../../markdown/Markdown';
import { onyx } from '../../store/client';
import { toast, useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { Choices } from '../../ui/form';
import { ErrorLine, Shown } from '../../ui/page';
import { savesByKey } from '../../ui/unsaved';
import { useLoaded } from '../../ui/useLoaded';
import { Backlinks } from './Backlinks';
import { AttachedChats } from './AttachedChats';
import { Conflict } from './Conflict';
import { isConflict, reread, shownText, wrote, type Editing } from './editing';
import { About, Status } from './EntityFacts';
import { EntityMenu } from './EntityMenu';
import type { PlaceOf } from './places';
import { useChanges } from './useEntities';
import { useEditing } from './useEditing';
import { useOpenLink, Writing } from './Writing';

/** One page, task, ref or project, with its editor, fields, links and conversations. */
export function EntityPage({
  space,
  place,
  id,
  onTitle,
}: {
  space: string;
  place: PlaceOf;
  id: string;
  onTitle: (title?: string) => void;
}) {
  const entity = useLoaded(`entity ${space} ${place.place} ${id}`, () => onyx.spaces.entity(space, place.place, id));
  useChanges(entity.reload);
  const title = entity.data?.title;
  useEffect(() => {
    onTitle(title);
    return () => onTitle(undefined);
  }, [title, onTitle]);
  return (
    <div className="flex min-h-0 flex-1 flex-col overflow-y-auto px-4 py-4 md:px-6">
      <div className="mx-auto flex min-h-0 w-full max-w-[760px] flex-1 flex-col">
        <Shown of={entity} rows={1} height="h-96">
          {(opened) => (
            <>
              <Opened entity={opened} place={place} reload={entity.reload} />
              <AttachedChats entity={opened} />
            </>
          )}
        </Shown>
      </div>
    </div>
  );
}

type Mode = 'read' | 'edit';

const MODES: [Mode, string][] = [
  ['read', 'Read'],
  ['edit', 'Edit'],
];

function Opened({ entity, place, reload }: { entity: Entity; place: PlaceOf; reload: () => void }) {
  const editor = useEditing(entity.space, place.place, entity);
  const { editing, change, save, saveAll } = editor;
  const { title, body } = shownText(editing);
  // Content from outside opens for reading; everything else opens in the editor.
  const [mode, setMode] = useState<Mode>(
    entity.origin === 'external' && editing.mine === undefined && body.trim() !== '' ? 'read' : 'edit',
  );
  const open = useOpenLink(entity.space);
  /** Fields other than the text are saved at once. */
  const set = async (fields: EntityChange) => {
    const done = await attempt('Not changed', () =>
      onyx.spaces.change(entity.space, place.place, entity.id, fields, editing.theirs.version),
    );
    if (done) change((known) => reread(known, done));
    reload();
  };
  /** ⌘S. The text is saved automatically, but a person who presses it expects a confirmation. */
  const saveNow = async () => {
    if (await saveAll()) toast('Saved');
  };
  return (
    <article className="flex min-h-0 flex-1 flex-col gap-3" onKeyDown={savesByKey(() => void saveNow())}>
      <div className="flex items-start gap-1">
        <BackToPlace space={entity.space} place={place} />
        <div className="min-w-0 flex-1">
          <Title title={title} mode={mode} onTitle={(written) => change((known) => wrote(known, { title: written }))} />
          <About entity={editing.theirs} />
        </div>
        <EntityMenu entity={editing.theirs} place={place} set={set} reload={reload} />
      </div>
      <div className="flex min-h-8 flex-wrap items-center gap-2">
        <Choices label="View" value={mode} options={MODES} onChange={setMode} />
        <Status entity={editing.theirs} place={place} set={set} />
        <SaveState editing={editing} />
      </div>
      {editing.fault && editing.fault.code !== 'offline' && (
        <ErrorLine
          fault={{ ...editing.fault, hint: `${editing.fault.hint} What you wrote is kept here.`.trim() }}
          action={{ label: 'Retry', run: () => void save() }}
        />
      )}
      {isConflict(editing) && <Conflict editor={editor} place={place} />}
      <PageLinks value={(to) => void open(to)}>
        {mode === 'edit' ? (
          <Writing
            space={entity.space}
            text={body}
            own={editing.mine !== undefined}
            onChange={(text) => change((known) => wrote(known, { body: text }))}
            onOpen={(to) => void open(to)}
          />
        ) : (
          <div className="min-h-0 flex-1 pb-6" dir="auto">
            {body.trim() === '' ? <p className="meta">Nothing written yet.</p> : <Markdown text={body} />}
          </div>
        )}
      </PageLinks>
      <Backlinks space={entity.space} place={place} id={entity.id} />
    </article>
  );
}

/** The link back to the list of pages, tasks, refs or projects. */
function BackToPlace({ space, place }: { space: string; place: PlaceOf }) {
  return (
    <Link
      to="/spaces/$space/$place"
      params={{ space, place: place.place }}
      className="icon-btn -ml-2"
      aria-label={`All ${place.title.toLowerCase()}`}
      title={place.title}
    >
      <ChevronLeft size={18} aria-hidden />
    </Link>
  );
}

function Title({ title, mode, onTitle }: { title: string; mode: Mode; onTitle: (title: string) => void }) {
  if (mode === 'read')
    return (
      <h2 className="text-title font-semibold [overflow-wrap:anywhere]" dir="auto">
        {title}
      </h2>
    );
  return (
    <input
      aria-label="Title"
      className="field mb-1 -mt-0.5 -ml-3 w-[calc(100%+12px)] border-transparent bg-transparent text-title font-semibold hover:border-line"
      value={title}
      maxLength={300}
      dir="auto"
      onChange={(event) => onTitle(event.target.value)}
    />
  );
}

/** Says in a few words whether the shown text is saved. */
function SaveState({ editing }: { editing: Editing }) {
  const online = useStore((state) => state.link === 'online');
  const words =
    isConflict(editing) || (editing.fault && editing.fault.code !== 'offline')
      ? ''
      : editing.saving
        ? 'Saving…'
        : editing.mine === undefined
          ? 'Saved'
          : shownText(editing).title.trim() === ''
            ? 'A title is missing. Your text is kept in this browser.'
            : online
              ? 'Not saved yet'
              : 'Offline. Your text is kept in this browser and saved later.';
  return (
    <span className="meta min-w-0 flex-1 text-right" role="status" aria-label="Save state">
      {words}
    </span>
  );
}
