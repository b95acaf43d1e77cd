import { Link } from '@tanstack/react-router';
import { Archive, ArchiveRestore, MoreHorizontal, Pin } from 'lucide-react';
import type { Session } from '@onyx/sdk';
import { SessionMenu } from '../../chat/SessionMenu';
import { setArchived } from '../../store/actions';
import { spaceOf, useSpaces } from '../../store/spaces';
import { useStore } from '../../store/state';
import { titleOf, turnsOf } from '../../shell/links';
import { hueOf } from '../../ui/hue';
import { Snippet } from '../../ui/Snippet';
import { ago, fullTime, tokens } from '../../ui/time';

/** The place of a conversation that is not a chat; it opens there. */
function useHome(session: Session): string | undefined {
  const { id, agent, origin } = session;
  const space = useSpaces(({ list }) => spaceOf(list, id)?.name);
  const persona = useStore((state) => state.status?.agents.find((one) => one.id === agent)?.name ?? agent);
  // A companion mostly has the name of its space.
  if (origin === 'companion')
    return space === undefined || space === titleOf(session) ? 'companion' : `companion of ${space}`;
  if (origin === 'agent_editor') return `editor of ${persona}`;
  return origin === 'thread' ? 'thread' : undefined;
}

export interface SessionRowProps {
  session: Session;
  /** Whether it is selected; absent while nothing can be selected. */
  chosen?: boolean;
  onChoose: () => void;
}

/** A chat in the list, with its actions. */
export function SessionRow({ session, chosen, onChoose }: SessionRowProps) {
  const archived = session.status === 'archived';
  const home = useHome(session);
  // A cleared editor conversation cannot be reopened: its persona has started another one.
  const isPutAway = archived && session.origin === 'agent_editor';
  const { unread, found } = session;
  const mark = session.runId ? 'working' : unread ? 'unread' : archived ? 'archived' : undefined;
  const color = session.runId ? 'text-accent' : unread ? 'text-ok-text' : 'text-dim';
  const title = titleOf(session);
  return (
    <li className="flex items-center gap-1 pr-2 hover:bg-sunken">
      {chosen !== undefined && (
        <label className="flex size-11 shrink-0 items-center justify-center">
          <input
            type="checkbox"
            className="size-4 accent-(--accent)"
            aria-label={`Select ${title}`}
            checked={chosen}
            onChange={onChoose}
          />
        </label>
      )}
      <Link
        to="/chat/$id"
        params={{ id: found?.session ?? session.id }}
        search={{ turn: found?.turn ?? undefined }}
        className="flex min-w-0 flex-1 items-center gap-3 px-4 py-2.5"
      >
        <span className="hue" style={{ background: hueOf(session.agent) }} aria-hidden />
        <span className="min-w-0 flex-1">
          <span className="flex items-baseline gap-2">
            <span className={`truncate ${unread ? 'font-semibold' : ''}`} dir="auto">
              {title}
            </span>
            {session.pinned && (
              <Pin size={12} className="shrink-0 self-center text-dim" role="img" aria-label="pinned" />
            )}
            {session.tags?.map((tag) => (
              <span key={tag} className="max-w-32 shrink-0 truncate rounded-sm bg-sunken px-1.5 text-tiny text-dim">
                {tag}
              </span>
            ))}
            {home && <span className="max-w-1/2 shrink-0 truncate text-tiny text-dim">{home}</span>}
            {mark && <span className={`shrink-0 text-tiny ${color}`}>{mark}</span>}
            <span className="ml-auto shrink-0 text-tiny text-dim sm:hidden">{ago(session.updatedAt)}</span>
          </span>
          <span className="block truncate text-meta text-dim">
            {found ? <Snippet parts={found.snippet} /> : session.preview}
          </span>
        </span>
        <span className="hidden shrink-0 text-right text-meta text-dim sm:block">
          <span className="block" title={fullTime(session.updatedAt)}>
            {ago(session.updatedAt)}
          </span>
          <span className="block">
            {turnsOf(session)}
            {session.tokenCount > 0 && ` · ${tokens(session.tokenCount)}`}
          </span>
        </span>
      </Link>
      {!isPutAway && (
        <button
          type="button"
          className="icon-btn max-sm:hidden"
          aria-label={archived ? `Unarchive ${title}` : `Archive ${title}`}
          title={archived ? 'Unarchive' : 'Archive'}
          onClick={() => void setArchived(session.id, !archived)}
        >
          {archived ? <ArchiveRestore size={16} aria-hidden /> : <Archive size={16} aria-hidden />}
        </button>
      )}
      {!isPutAway && (
        <SessionMenu session={session} label={`More for ${title}`}>
          <MoreHorizontal size={16} aria-hidden />
        </SessionMenu>
      )}
    </li>
  );
}
