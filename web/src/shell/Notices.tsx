import { useEffect, useState } from 'react';
import { WifiOff, X } from 'lucide-react';
import { socket } from '../store/client';
import { dismissToast, useStore } from '../store/state';

const BANNER_AFTER_MS = 3_000;

/** A lost connection first shows only as a dot in the navigation, and after three seconds as a notice. */
export function OfflineBanner() {
  const link = useStore((state) => state.link);
  const lostAt = useStore((state) => state.lostAt);
  const waiting = useStore((state) => state.pending.filter((item) => item.state === 'waiting').length);
  const decided = useStore((state) => Object.keys(state.verdicts).length);
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (link === 'online' || link === 'unauthenticated') return;
    const timer = setTimeout(() => setLate(true), BANNER_AFTER_MS);
    return () => clearTimeout(timer);
  }, [link === 'online', lostAt]);
  if (!late) return null;
  const parts = [counted(waiting, 'message'), counted(decided, 'decision')].filter(Boolean);
  const words =
    parts.length === 0
      ? 'Your messages will be sent when it is back.'
      : `${parts.join(' and ')} ${waiting + decided === 1 ? 'waits' : 'wait'} to be sent.`;
  return (
    <div
      role="status"
      className="flex items-center gap-2 border-b border-line bg-warn-soft px-4 py-1.5 text-meta text-warn"
    >
      <WifiOff size={15} aria-hidden />
      <span className="flex-1">No connection to Onyx. {words}</span>
      <button type="button" className="underline underline-offset-3" onClick={() => socket.wake()}>
        Try now
      </button>
    </div>
  );
}

const counted = (count: number, what: string) => count > 0 && `${count} ${what}${count === 1 ? '' : 's'}`;

export function Toasts() {
  const toasts = useStore((state) => state.toasts);
  const updateReady = useStore((state) => state.updateReady);
  return (
    <div
      className="pointer-events-none fixed right-4 bottom-20 z-50 flex w-[min(400px,calc(100vw-32px))] flex-col gap-2 md:bottom-4"
      role="region"
      aria-label="Notices"
      aria-live="polite"
    >
      {updateReady && (
        <Card>
          <span className="flex-1">A new version of Onyx is available.</span>
          <button type="button" className="btn" onClick={updateReady}>
            Reload
          </button>
        </Card>
      )}
      {toasts.map((entry) => (
        <Card key={entry.id}>
          <span className={`min-w-0 flex-1 [overflow-wrap:anywhere] ${entry.tone === 'danger' ? 'text-danger' : ''}`}>
            {entry.text}
          </span>
          {entry.action && (
            <button type="button" className="btn" onClick={() => (entry.action?.run(), dismissToast(entry.id))}>
              {entry.action.label}
            </button>
          )}
          <button
            type="button"
            className="icon-btn -mr-1.5"
            aria-label="Dismiss"
            onClick={() => dismissToast(entry.id)}
          >
            <X size={15} aria-hidden />
          </button>
        </Card>
      ))}
    </div>
  );
}

function Card({ children }: { children: React.ReactNode }) {
  return (
    <div className="rise pointer-events-auto flex items-center gap-2 rounded-md border border-line bg-surface py-2 pr-2 pl-3.5 text-meta shadow-over">
      {children}
    </div>
  );
}
