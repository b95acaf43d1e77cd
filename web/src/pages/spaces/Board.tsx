import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState, type DragEvent, type KeyboardEvent } from 'react';
import { ArrowLeftRight } from 'lucide-react';
import type { Entity } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { Menu } from '../../ui/Menu';
import { Empty, Shown } from '../../ui/page';
import { beside, columnsOf, nameOfStatus, newer, type Column } from './board';
import { placeNamed } from './places';
import { useEntities } from './useEntities';

const DRAGGED = 'application/x-onyx-task';

/** Tasks in columns: dragged, moved by Shift and the arrows, or by a menu. */
export function Board({ space }: { space: string }) {
  const tasks = useEntities(space, 'tasks');
  // The column that a card is dragged to, and the announcement of the last move.
  const [moving, setMoving] = useState<Record<string, string>>({});
  const [changed, setChanged] = useState<Record<string, Entity>>({});
  const [said, setSaid] = useState('');
  const [focus, setFocus] = useState<string>();
  const board = useRef<HTMLDivElement>(null);
  // The moves of a card run one after the other, each from the version of the one before.
  const moves = useRef(new Map<string, Promise<Entity>>());
  useEffect(() => {
    if (focus !== undefined) board.current?.querySelector<HTMLElement>(`[data-task="${CSS.escape(focus)}"]`)?.focus();
    setFocus(undefined);
  }, [focus]);
  const move = async (task: Entity, status: string) => {
    setMoving((all) => ({ ...all, [task.id]: status }));
    setFocus(task.id);
    const before = moves.current.get(task.id) ?? Promise.resolve(task);
    const after = before.then(async (from) => {
      const done = await attempt(`“${task.title}” was not moved`, () =>
        onyx.spaces.change(space, 'tasks', task.id, { status }, from.version),
      );
      if (done) setSaid(`“${task.title}” is in ${nameOfStatus(status)}`);
      return done ?? from;
    });
    moves.current.set(task.id, after);
    const made = await after;
    if (moves.current.get(task.id) !== after) return;
    moves.current.delete(task.id);
    setChanged((all) => ({ ...all, [task.id]: made }));
    setMoving(({ [task.id]: _, ...others }) => others);
    tasks.reload();
  };
  return (
    <div ref={board} className="flex min-h-0 flex-1 flex-col overflow-auto px-4 py-4 md:px-6 md:py-6">
      <AddTask space={space} onAdded={tasks.reload} />
      <Shown of={tasks} rows={3} height="h-24">
        {(loaded) => {
          const list = loaded.map((task) => newer(task, changed[task.id]));
          const columns = columnsOf(list, moving);
          return (
            <>
              {list.length === 0 && <Empty>{placeNamed('tasks')?.none}</Empty>}
              <div className="flex gap-3 max-md:flex-col md:min-h-0 md:flex-1 md:overflow-x-auto">
                {columns.map((column) => (
                  <ColumnOf
                    key={column.status}
                    column={column}
                    columns={columns}
                    tasks={list}
                    move={(task, status) => void move(task, status)}
                  />
                ))}
              </div>
            </>
          );
        }}
      </Shown>
      <p className="sr-only" role="status">
        {said}
      </p>
    </div>
  );
}

function AddTask({ space, onAdded }: { space: string; onAdded: () => void }) {
  const [title, setTitle] = useState('');
  const [busy, setBusy] = useState(false);
  const online = useStore((state) => state.link === 'online');
  const add = async () => {
    if (title.trim() === '') return;
    setBusy(true);
    const made = await attempt('The task was not created', () =>
      onyx.spaces.add(space, 'tasks', { title: title.trim(), status: 'todo' }),
    );
    setBusy(false);
    if (!made) return;
    setTitle('');
    onAdded();
  };
  return (
    <form className="mb-4 flex gap-2" onSubmit={(event) => (event.preventDefault(), void add())}>
      <input
        className="field min-w-0 flex-1"
        placeholder="Add a task"
        aria-label="Add a task"
        value={title}
        maxLength={300}
        dir="auto"
        onChange={(event) => setTitle(event.target.value)}
      />
      <button type="submit" className="btn btn-primary h-9" disabled={busy || !online || title.trim() === ''}>
        Add
      </button>
    </form>
  );
}

interface Moving {
  columns: Column[];
  move: (task: Entity, status: string) => void;
}

function ColumnOf({ column, tasks, columns, move }: { column: Column; tasks: Entity[] } & Moving) {
  const [over, setOver] = useState(false);
  const onDragOver = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes(DRAGGED)) return;
    event.preventDefault();
    setOver(true);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const task = tasks.find((one) => one.id === event.dataTransfer.getData(DRAGGED));
    if (task && !column.tasks.includes(task)) move(task, column.status);
  };
  return (
    <section
      aria-label={column.name}
      className={`flex min-w-0 flex-1 flex-col rounded-md border p-2 md:min-w-52 ${over ? 'border-accent bg-accent-soft' : 'border-line bg-sunken'}`}
      onDragOver={onDragOver}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <h2 className="flex items-baseline gap-2 px-1.5 pb-2 text-meta font-semibold">
        <span className="truncate">{column.name}</span>
        <span className="font-normal text-dim">{column.tasks.length}</span>
      </h2>
      <ul className="flex min-h-6 flex-col gap-2">
        {column.tasks.map((task) => (
          <li key={task.id}>
            <Card task={task} status={column.status} columns={columns} move={move} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Card({ task, status, columns, move }: { task: Entity; status: string } & Moving) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (!event.shiftKey || (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight')) return;
    event.preventDefault();
    const to = beside(columns, status, event.key === 'ArrowRight' ? 1 : -1);
    if (to) move(task, to);
  };
  const about = [task.fields['due'] && `due ${task.fields['due']}`, ...task.tags.map((tag) => `#${tag}`)]
    .filter(Boolean)
    .join(' · ');
  return (
    <div
      draggable
      className="card flex cursor-grab items-start gap-1 py-1 pr-1 pl-3 active:cursor-grabbing"
      onDragStart={(event) => event.dataTransfer.setData(DRAGGED, task.id)}
    >
      <Link
        to="/spaces/$space/$place/$entity"
        params={{ space: task.space, place: 'tasks', entity: task.id }}
        className="min-w-0 flex-1 py-1.5 text-[14px] leading-5 [overflow-wrap:anywhere]"
        draggable={false}
        data-task={task.id}
        aria-keyshortcuts="Shift+ArrowLeft Shift+ArrowRight"
        title="Move with Shift and an arrow key"
        dir="auto"
        onKeyDown={onKeyDown}
      >
        <span className={status === 'done' ? 'text-dim line-through' : ''}>{task.title}</span>
        {about && <span className="meta block">{about}</span>}
      </Link>
      <Menu
        label={`Move ${task.title}`}
        className="icon-btn"
        entries={columns.map((column) => ({
          label: column.name,
          checked: column.status === status,
          run: () => column.status !== status && move(task, column.status),
        }))}
      >
        <ArrowLeftRight size={14} aria-hidden />
      </Menu>
    </div>
  );
}
