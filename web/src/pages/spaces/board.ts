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

/** A task that says nothing of its status is to be done. */
export const statusOf = (task: Pick<Entity, 'status'>) => task.status?.trim().toLowerCase() || 'todo';

export const nameOfStatus = (status: string) => NAMES[status] ?? status.charAt(0).toUpperCase() + status.slice(1);

/** The usual three, and one more for every other status there is, before what is done. */
export function columnsOf(tasks: Entity[], moved: Record<string, string> = {}): Column[] {
  const at = (task: Entity) => moved[task.id] ?? statusOf(task);
  const others = [...new Set(tasks.map(at))].filter((status) => status !== LAST && !FIRST.includes(status)).sort();
  return [...FIRST, ...others, LAST].map((status) => ({
    status,
    name: nameOfStatus(status),
    tasks: tasks.filter((task) => at(task) === status),
  }));
}

/** A list may have been read before a change of one's own: of two states of a task the later counts. */
export function newer(listed: Entity, changed: Entity | undefined): Entity {
  return changed && Date.parse(changed.updatedAt) > Date.parse(listed.updatedAt) ? changed : listed;
}

/** The column beside one; at the ends there is none. */
export function beside(columns: Column[], status: string, step: 1 | -1): string | undefined {
  const at = columns.findIndex((column) => column.status === status);
  return at < 0 ? undefined : columns[at + step]?.status;
}
