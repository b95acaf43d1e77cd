import { useEffect, useRef, useState } from 'react';
import type { Answer } from '../store/messages';
import { FAULT_ACTION } from '../ui/page';
import { MOST_TRIES, secondsLeft } from './pausing';

/** The number of automatic retries for each chat. A retry by the person resets it. */
const tries = new Map<string, number>();

/** Retries a paused model automatically when its pause is over, while the chat is open. */
export function usePaused(answer: Answer, sessionId: string | undefined, retry: (() => void) | undefined) {
  const [now, setNow] = useState(() => Date.now());
  const [cancelled, setCancelled] = useState(false);
  const left = secondsLeft(answer, now);
  // A pause that was over when the answer was first shown is an old failure and is not retried. The end of the pause is
  // known only from the log, which is read a moment after the run has failed.
  const waits = useRef<boolean>(undefined);
  if (left !== undefined) waits.current ??= left > 0;
  const tried = tries.get(sessionId ?? '') ?? 0;
  const active = retry !== undefined && waits.current === true && !cancelled && tried < MOST_TRIES;
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [active]);
  useEffect(() => {
    if (!active || left !== 0) return;
    waits.current = false;
    tries.set(sessionId ?? '', tried + 1);
    retry?.();
  }, [active, left]);
  return active && left !== undefined ? { left, cancel: () => setCancelled(true) } : undefined;
}

/** The seconds are hidden from screen readers, which would announce each of them. */
export function PausedWords({ model = 'The model', left }: { model?: string; left: number }) {
  return (
    <>
      <span aria-hidden className="tabular-nums">
        {`${model} keeps failing. Paused; retrying in ${left} s.`}
      </span>
      <span className="sr-only">{`${model} keeps failing. Paused; it is retried automatically.`}</span>
    </>
  );
}

export function CancelRetry({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" className={FAULT_ACTION} onClick={onClick}>
      Do not retry
    </button>
  );
}
