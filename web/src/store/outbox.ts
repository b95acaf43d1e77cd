// Messages on their way to the server, kept in the browser until the server has them.

import { writeStored } from './browserStorage';
import { useStore, type Pending } from './state';

const { getState, setState } = useStore;

export function keepOutbox(): void {
  writeStored(
    'onyx.outbox',
    getState().pending.filter(
      (item) => item.state !== 'queued' && item.state !== 'unanswered' && item.runId === undefined,
    ),
  );
}

export function addPending(item: Pending): void {
  setState((state) => ({ pending: [...state.pending, item] }));
  keepOutbox();
}

export function changePending(key: string, change: Partial<Pending>): void {
  setState((state) => ({ pending: state.pending.map((item) => (item.key === key ? { ...item, ...change } : item)) }));
  keepOutbox();
}

export function dropPending(key: string): void {
  setState((state) => ({ pending: state.pending.filter((item) => item.key !== key) }));
  keepOutbox();
}
