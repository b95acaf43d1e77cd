import { Link } from '@tanstack/react-router';
import type { Thread } from '@onyx/sdk';
import { useStore } from '../../store/state';
import { Empty } from '../../ui/page';
import { ago, fullTime } from '../../ui/time';

function useMark(id: string): { mark?: string; running: boolean; unread: boolean } {
  const running = useStore(
    (state) => Boolean(state.sessions[id]?.runId) || state.conversations[id]?.live !== undefined,
  );
  const unread = useStore((state) => state.sessions[id]?.unread === true);
  return { running, unread, mark: running ? 'working' : unread ? 'unread' : undefined };
}

/** The threads of a channel, on the channel's page. */
export function ThreadRows({ threads }: { threads: Thread[] }) {
  if (threads.length === 0) return <Empty>No threads yet. Write below to start one.</Empty>;
  return (
    <ul className="card divide-y divide-line overflow-hidden" aria-label="Threads">
      {threads.map((thread) => (
        <li key={thread.id}>
          <Row thread={thread} />
        </li>
      ))}
    </ul>
  );
}

function Row({ thread }: { thread: Thread }) {
  const { mark, running, unread } = useMark(thread.id);
  const session = useStore((state) => state.sessions[thread.id]);
  const at = session?.updatedAt ?? thread.createdAt;
  return (
    <Link
      to="/channels/$channel/$thread"
      params={{ channel: thread.channel, thread: thread.id }}
      className="flex min-h-14 items-center gap-3 px-4 py-2 hover:bg-sunken"
    >
      <span className={`dot ${running ? 'dot-run' : unread ? 'bg-ok' : ''}`} aria-hidden />
      <span className="min-w-0 flex-1">
        <span className="flex items-baseline gap-2">
          <span className={`truncate ${unread ? 'font-semibold' : ''}`} dir="auto">
            {thread.title}
          </span>
          {mark && <span className={`shrink-0 text-tiny ${running ? 'text-accent' : 'text-ok-text'}`}>{mark}</span>}
        </span>
        {session?.preview && (
          <span className="block truncate text-meta text-dim" dir="auto">
            {session.preview}
          </span>
        )}
      </span>
      <time className="shrink-0 text-meta text-dim max-sm:hidden" title={fullTime(at)}>
        {ago(at)}
      </time>
    </Link>
  );
}

/** The same list beside a thread; it gives way to a panel on narrow screens. */
export function ThreadNav({ threads, beside }: { threads: Thread[]; beside: 'panel' | 'nothing' }) {
  return (
    <nav
      aria-label="Threads"
      className={`hidden w-56 shrink-0 flex-col gap-0.5 overflow-y-auto border-r border-line p-3 ${beside === 'panel' ? '2xl:flex' : 'lg:flex'}`}
    >
      {threads.map((thread) => (
        <NavRow key={thread.id} thread={thread} />
      ))}
    </nav>
  );
}

function NavRow({ thread }: { thread: Thread }) {
  const { mark, running, unread } = useMark(thread.id);
  return (
    <Link
      to="/channels/$channel/$thread"
      params={{ channel: thread.channel, thread: thread.id }}
      className="nav-item"
      activeProps={{ 'aria-current': 'page' }}
      aria-label={mark ? `${thread.title}, ${mark}` : thread.title}
      title={thread.title}
    >
      <span className={`dot ${running ? 'dot-run' : unread ? 'bg-ok' : ''}`} aria-hidden />
      <span className={`truncate ${unread ? 'font-semibold' : ''}`} dir="auto">
        {thread.title}
      </span>
    </Link>
  );
}
