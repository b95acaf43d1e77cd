// What the rows of buttons below messages and answers have in common.

import { useStore } from '../store/state';
import { fullTime, timeOf } from '../ui/time';

export const ROW =
  'mt-0.5 flex min-h-8 md:-mb-4 items-center gap-0.5 text-dim transition-opacity md:opacity-0 md:group-focus-within:opacity-100 md:group-hover:opacity-100';

/** Whether an answer of this conversation is being written. */
export function useBusy(sessionId: string): boolean {
  return useStore((state) => state.conversations[sessionId]?.live !== undefined);
}

/** When it was written. */
export function Time({ at }: { at?: string }) {
  if (!at) return null;
  return (
    <time className="mx-1 text-tiny whitespace-nowrap" dateTime={at} title={fullTime(at)}>
      {timeOf(at)}
    </time>
  );
}
