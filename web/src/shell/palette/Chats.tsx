import { Command } from 'cmdk';
import { MessageSquare } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { Session } from '@onyx/sdk';
import { socket } from '../../store/client';
import { Snippet } from '../../ui/Snippet';
import { ago } from '../../ui/time';
import { titleOf, useRecent } from '../links';
import { SAID } from './finding';
import { Heading, ITEM } from './item';

/** The newest chats, and those that the server finds for the typed text. */
export function Chats({ query, onOpen }: { query: string; onOpen: (session: Session) => void }) {
  const { pinned, recent } = useRecent(30);
  const found = useSearch(query);
  const said = new Map(found.map((session) => [session.id, session]));
  const near = [...pinned, ...recent];
  const known = new Set(near.map((session) => session.id));
  const chats = [
    ...near.map((session) => ({ ...session, found: said.get(session.id)?.found })),
    ...found.filter((session) => !known.has(session.id)),
  ];
  return (
    <Command.Group heading={<Heading>Chats</Heading>}>
      {chats.map((session) => (
        <Command.Item
          // A chat with a server hit gets a new key, because the palette does not score known entries again.
          key={`${session.id}${said.has(session.id) ? ' said' : ''}`}
          value={`${titleOf(session)} ${session.id}`}
          keywords={[titleOf(session), said.has(session.id) ? SAID : session.preview]}
          onSelect={() => onOpen(session)}
          className={ITEM}
        >
          <MessageSquare size={16} className="shrink-0 text-dim" aria-hidden />
          <span className="min-w-0 flex-1">
            <span className="block truncate">{titleOf(session)}</span>
            {session.found && (
              <span className="block truncate text-meta text-dim">
                <Snippet parts={session.found.snippet} />
              </span>
            )}
          </span>
          <span className="shrink-0 text-tiny text-dim">{ago(session.updatedAt)}</span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}

/** Chats found by the server, because the browser's list holds only the newest. */
function useSearch(query: string): Session[] {
  const [found, setFound] = useState<Session[]>([]);
  useEffect(() => {
    if (query.trim().length < 2) return setFound([]);
    let current = true;
    const timer = setTimeout(() => {
      socket.sessions({ q: query.trim(), limit: 20 }).then(
        (list) => current && setFound(list.sessions),
        () => current && setFound([]),
      );
    }, 150);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [query]);
  return found;
}
