import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ChevronLeft, Globe, History, MoreHorizontal, Tag, Trash2 } from 'lucide-react';
import type { Entity, EntityChange } from '@onyx/sdk';
import { PageLinks } from '../../markdown/inline';
import { Markdown } from '../../markdown/Markdown';
import { Outside } from '../../markdown/Outside';
import { onyx } from '../../store/client';
import { toast, useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { Choices, Select } from '../../ui/form';
import { Menu } from '../../ui/Menu';
import { Ask, Confirm } from '../../ui/Modal';
import { ErrorLine, Shown } from '../../ui/page';
import { ago, fullTime } from '../../ui/time';
import { savesByKey } from '../../ui/unsaved';
import { useLoaded } from '../../ui/useLoaded';
import { Backlinks } from './Backlinks';
import { AttachedChats } from './AttachedChats';
import { nameOfStatus, statusOf } from './board';
import { Conflict } from './Conflict';
import { isConflict, reread, shownText, wrote, type Editing } from './editing';
import { sourceOf } from './EntityList';
import type { PlaceOf } from './places';
import { tellChange, useChanges } from './useEntities';
import { useEditing } from './useEditing';
import { useOpenLink, Writing } from './Writing';
import { Versions } from './Versions';

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

function Opened({ entity, place, reload }: { entity: Entity; place: PlaceOf; reload: () => void }) {
  const editor = useEditing(entity.space, place.place, entity);
  const { editing, change, save, saveAll } = editor;
  const { title, body } = shownText(editing);
  // Content from outside opens for reading; everything else opens in the editor.
  const [mode, setMode] = useState<'read' | 'edit'>(
    entity.origin === 'external' && editing.mine === undefined && body.trim() !== '' ? 'read' : 'edit',
  );
  const open = useOpenLink(entity.space);
  const conflict = isConflict(editing);
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
        <Link
          to="/spaces/$space/$place"
          params={{ space: entity.space, place: place.place }}
          className="icon-btn -ml-2"
          aria-label={`All ${place.title.toLowerCase()}`}
          title={place.title}
        >
          <ChevronLeft size={18} aria-hidden />
        </Link>
        <div className="min-w-0 flex-1">
          {mode === 'edit' ? (
            <input
              aria-label="Title"
              className="field mb-1 -mt-0.5 -ml-3 w-[calc(100%+12px)] border-transparent bg-transparent text-title font-semibold hover:border-line"
              value={title}
              maxLength={300}
              dir="auto"
              onChange={(event) => change((known) => wrote(known, { title: event.target.value }))}
            />
          ) : (
            <h2 className="text-title font-semibold [overflow-wrap:anywhere]" dir="auto">
              {title}
            </h2>
          )}
          <About entity={editing.theirs} />
        </div>
        <More entity={editing.theirs} place={place} set={set} reload={reload} />
      </div>
      <div className="flex min-h-8 flex-wrap items-center gap-2">
        <Choices
          label="View"
          value={mode}
          options={[
            ['read', 'Read'],
            ['edit', 'Edit'],
          ]}
          onChange={setMode}
        />
        <Facts entity={editing.theirs} place={place} set={set} />
        <SaveState editing={editing} />
      </div>
      {editing.fault && editing.fault.code !== 'offline' && (
        <ErrorLine
          fault={{ ...editing.fault, hint: `${editing.fault.hint} What you wrote is kept here.`.trim() }}
          action={{ label: 'Retry', run: () => void save() }}
        />
      )}
      {conflict && <Conflict editor={editor} place={place} />}
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

/** When the entity was edited, and its origin. */
function About({ entity }: { entity: Entity }) {
  const source = sourceOf(entity);
  return (
    <p className="meta flex flex-wrap items-center gap-x-2">
      <span title={fullTime(entity.updatedAt)}>edited {ago(entity.updatedAt)}</span>
      {entity.origin === 'external' && (
        <span
          className="inline-flex items-center gap-1 text-warn"
          title="Agents treat this as evidence, never as instructions."
        >
          <Globe size={13} aria-hidden /> from outside
        </span>
      )}
      {source ? (
        <Outside link={source} className="min-w-0 truncate underline underline-offset-3">
          {source.host}
        </Outside>
      ) : (
        entity.fields['source'] && <span className="min-w-0 truncate">{entity.fields['source']}</span>
      )}
      {entity.tags.map((tag) => (
        <span key={tag} className="min-w-0 truncate">
          #{tag}
        </span>
      ))}
    </p>
  );
}

const STATUSES: Partial<Record<PlaceOf['place'], string[]>> = {
  tasks: ['todo', 'doing', 'done'],
  projects: ['active', 'paused', 'done'],
};

function Facts({
  entity,
  place,
  set,
}: {
  entity: Entity;
  place: PlaceOf;
  set: (fields: EntityChange) => Promise<void>;
}) {
  const usual = STATUSES[place.place];
  if (!usual) return null;
  const status = place.place === 'tasks' ? statusOf(entity) : (entity.status?.trim().toLowerCase() ?? '');
  const options = [...new Set([...(status === '' ? [''] : []), ...usual, status])].map((one): [string, string] => [
    one,
    one === '' ? 'No status' : nameOfStatus(one),
  ]);
  return (
    <>
      <span className="flex min-w-28">
        <Select label="Status" value={status} options={options} onChange={(value) => void set({ status: value })} />
      </span>
      {place.place === 'tasks' && (
        <input
          type="date"
          aria-label="Due"
          title="Due"
          className="field w-auto"
          value={entity.fields['due'] ?? ''}
          onChange={(event) => void set({ fields: { due: event.target.value || null } })}
        />
      )}
    </>
  );
}

function More({
  entity,
  place,
  set,
  reload,
}: {
  entity: Entity;
  place: PlaceOf;
  set: (fields: EntityChange) => Promise<void>;
  reload: () => void;
}) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState<'tags' | 'versions' | 'delete'>();
  const tag = (text?: string) => {
    setAsking(undefined);
    if (text !== undefined)
      void set({
        tags: text
          .split(',')
          .map((one) => one.trim().replace(/^#/, ''))
          .filter(Boolean),
      });
  };
  const remove = async (yes: boolean) => {
    setAsking(undefined);
    if (!yes) return;
    // The page is left first, so that nothing requests the entity while it is deleted.
    await navigate({ to: '/spaces/$space/$place', params: { space: entity.space, place: place.place } });
    const done = await attempt(`“${entity.title}” was not deleted`, () =>
      onyx.spaces.take(entity.space, place.place, entity.id, entity.version).then(() => true),
    );
    if (!done) return;
    tellChange();
    toast(`“${entity.title}” was deleted; its versions are kept`);
  };
  return (
    <>
      <Menu
        label={`More for this ${place.kind}`}
        className="icon-btn"
        entries={[
          { label: 'Tags', icon: <Tag size={15} aria-hidden />, run: () => setAsking('tags') },
          { label: 'Version history', icon: <History size={15} aria-hidden />, run: () => setAsking('versions') },
          { label: 'Delete', icon: <Trash2 size={15} aria-hidden />, tone: 'danger', run: () => setAsking('delete') },
        ]}
      >
        <MoreHorizontal size={18} aria-hidden />
      </Menu>
      {asking === 'tags' && (
        <Ask label="Tags, separated by commas" value={entity.tags.join(', ')} action="Save" onAnswer={tag} />
      )}
      {asking === 'versions' && (
        <Versions path={entity.path} now={entity.body ?? ''} onRestored={reload} onClose={() => setAsking(undefined)} />
      )}
      {asking === 'delete' && (
        <Confirm
          question={`Delete “${entity.title}”?`}
          detail="Its versions are kept and can be restored in Memory."
          action="Delete"
          onAnswer={(yes) => void remove(yes)}
        />
      )}
    </>
  );
}
