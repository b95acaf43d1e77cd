import { Link, useNavigate } from '@tanstack/react-router';
import { MoreHorizontal, Pin } from 'lucide-react';
import type { Session } from '@onyx/sdk';
import { SessionMenu } from '../../chat/SessionMenu';
import { useStore } from '../../store/state';
import { titleIn } from '../links';

/** One chat of the list. Only a working or unread chat has a dot. */
export function ChatItem({ session, className = '' }: { session: Session; className?: string }) {
  const navigate = useNavigate();
  const shown = useStore((state) => state.shown === session.id);
  const unread = useStore((state) => state.sessions[session.id]?.unread === true);
  const title = useStore((state) => titleIn(state, session.id));
  const running = Boolean(session.runId);
  const says = running ? ', working' : unread ? ', unread' : '';
  return (
    <div className={`group/item relative ${className}`}>
      <Link
        to="/chat/$id"
        params={{ id: session.id }}
        className="nav-item pr-7"
        activeProps={{ 'aria-current': 'page' }}
        aria-label={title + says}
        title={title}
      >
        <span className={`truncate ${unread ? 'font-semibold' : ''}`}>{title}</span>
        <span className="ml-auto flex shrink-0 items-center gap-1.5 group-focus-within/item:opacity-0 group-hover/item:opacity-0">
          {session.pinned && <Pin size={12} className="text-dim" aria-hidden />}
          {(running || unread) && <span className={`dot ${running ? 'dot-run' : 'dot-unread'}`} aria-hidden />}
        </span>
      </Link>
      <span className="absolute top-0 right-0 opacity-0 group-focus-within/item:opacity-100 group-hover/item:opacity-100 has-aria-expanded:opacity-100">
        <SessionMenu
          session={session}
          label={`More for ${title}`}
          onDeleted={() => shown && void navigate({ to: '/chat' })}
        >
          <MoreHorizontal size={15} aria-hidden />
        </SessionMenu>
      </span>
    </div>
  );
}
