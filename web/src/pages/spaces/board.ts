// Tasks in columns by their status. Pure.

import type { Entity } from '@onyx/sdk';

export interface Column {
  status: string;
  name: string;
  tasks: Entity[];
}

const FIRST = ['todo', 'doing'];
const LAST = 'done';
const NAMES: Record<string, string> = { todo: 'To do', doing: 'Doing', done: 'Done' };

/** A task without a status counts as `todo`. */
export const statusOf = (task: Pick<Entity, 'status'>) => task.status?.trim().toLowerCase() || 'todo';

export const nameOfStatus = (status: string) => NAMES[status] ?? status.charAt(0).toUpperCase() + status.slice(1);

/** The usual three columns, and one for every other status before `done`. */
export function columnsOf(tasks: Entity[], moved: Record<string, string> = {}): Column[] {
  const at = (task: Entity) => moved[task.id] ?? statusOf(task);
  const others = [...new Set(tasks.map(at))].filter((status) => status !== LAST && !FIRST.includes(status)).sort();
  return [...FIRST, ...others, LAST].map((status) => ({
    status,
    name: nameOfStatus(status),
    tasks: tasks.filter((task) => at(task) === status),
  }));
}

/** A list may be older than a change made here, so the later of two versions of a task is used. */
export function newer(listed: Entity, changed: Entity | undefined): Entity {
  return changed && Date.parse(changed.updatedAt) > Date.parse(listed.updatedAt) ? changed : listed;
}

/** The neighbouring column, if there is one. */
export function beside(columns: Column[], status: string, step: 1 | -1): string | undefined {
  const at = columns.findIndex((column) => column.status === status);
  return at < 0 ? undefined : columns[at + step]?.status;
}
