import { useNavigate } from '@tanstack/react-router';
import { Archive, MoreHorizontal, Search, Users } from 'lucide-react';
import type { Session } from '@onyx/sdk';
import { Header } from '../shell/Header';
import { titleIn, turnsOf } from '../shell/links';
import { setArchived } from '../store/actions';
import { useStore } from '../store/state';
import { About } from './ChatFrame';
import { SessionMenu } from './SessionMenu';
import { TaintMark } from './TaintMark';

/** The title of a chat, what is known about it, and what can be done with it. */
export function ChatHeader({ id, session, onFind }: { id: string; session?: Session; onFind: () => void }) {
  const navigate = useNavigate();
  const title = useStore((state) => titleIn(state, id));
  return (
    <Header title={title}>
      {session?.status === 'archived' && (
        <button
          type="button"
          className="chip"
          title="Unarchive this chat"
          onClick={() => void setArchived(session.id, false)}
        >
          <Archive size={14} aria-hidden /> Archived
        </button>
      )}
      {session?.attached && <About entity={session.attached} />}
      <TaintMark sessionId={id} />
      {session && session.agents.length > 1 && <Several agents={session.agents} />}
      {session && session.messageCount > 0 && <span className="meta hidden sm:inline">{turnsOf(session)}</span>}
      <button
        type="button"
        className="icon-btn"
        aria-label="Find in this chat"
        title="Find in this chat"
        onClick={onFind}
      >
        <Search size={16} aria-hidden />
      </button>
      {session && (
        <SessionMenu session={session} label="More for this chat" onDeleted={() => void navigate({ to: '/chat' })}>
          <MoreHorizontal size={18} aria-hidden />
        </SessionMenu>
      )}
    </Header>
  );
}

/** The agents that answer in a chat with more than one. */
function Several({ agents }: { agents: string[] }) {
  const known = useStore((state) => state.status?.agents);
  const names = agents.map((id) => known?.find((agent) => agent.id === id)?.name ?? id);
  return (
    <span className="chip hidden sm:inline-flex" title={`${names.join(', ')} answer`}>
      <Users size={14} aria-hidden /> {names.join(', ')}
    </span>
  );
}
