import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { MessageSquarePlus, Unlink } from 'lucide-react';
import type { Entity, EntityRef } from '@onyx/sdk';
import { aboutOf } from '../../chat/attached';
import { titleOf } from '../../shell/links';
import { attach } from '../../store/actions';
import { onyx, watch } from '../../store/client';
import { ErrorLine } from '../../ui/page';
import { ago, fullTime } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';

/** The conversations attached to a page, task, ref or project; the companion sees the list too. */
export function AttachedChats({ entity }: { entity: Entity }) {
  const at: EntityRef = { space: entity.space, kind: entity.kind, id: entity.id };
  const chats = useLoaded(`chats about ${aboutOf(at)}`, () => onyx.sessions.about(at));
  const { reload } = chats;
  useEffect(() => watch('sessions', reload), [reload]);
  const detach = async (id: string) => {
    if (await attach(id, null)) reload();
  };
  return (
    <section aria-label="Conversations" className="mt-4 border-t border-line pt-3 pb-6">
      <div className="mb-1 flex min-h-9 items-center gap-2">
        <h2 className="flex-1 font-semibold">Conversations</h2>
        <Link to="/chat" search={{ about: aboutOf(at) }} className="btn">
          <MessageSquarePlus size={15} aria-hidden /> New conversation
        </Link>
      </div>
      {chats.fault && <ErrorLine fault={chats.fault} action={{ label: 'Retry', run: reload }} />}
      {chats.data?.length === 0 && <p className="meta">No conversations about this {entity.kind} yet.</p>}
      <ul>
        {chats.data?.map((session) => (
          <li key={session.id} className="flex items-center gap-1">
            <Link
              to="/chat/$id"
              params={{ id: session.id }}
              className="flex min-h-11 min-w-0 flex-1 items-center gap-3 rounded-sm px-2 hover:bg-sunken"
            >
              <span className="min-w-0 flex-1 truncate" dir="auto">
                {titleOf(session)}
              </span>
              <span className="shrink-0 text-tiny text-dim" title={fullTime(session.updatedAt)}>
                {ago(session.updatedAt)}
              </span>
            </Link>
            <button
              type="button"
              className="icon-btn"
              aria-label={`Detach ${titleOf(session)}`}
              title="Detach"
              onClick={() => void detach(session.id)}
            >
              <Unlink size={15} aria-hidden />
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
