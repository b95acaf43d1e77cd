import { useNavigate } from '@tanstack/react-router';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useShallow } from 'zustand/react/shallow';
import { useStore } from '../store/state';

/** The other ways this conversation went from here: `2/3`, with arrows. */
export function Siblings({ sessionId, turnId }: { sessionId: string; turnId: string }) {
  const navigate = useNavigate();
  const family = useStore(useShallow((state) => familyAt(state.sessions, state.conversations, sessionId, turnId)));
  if (family.length < 2) return null;
  const at = family.indexOf(sessionId);
  const go = (step: number) => {
    const id = family[(at + step + family.length) % family.length];
    if (id) void navigate({ to: '/chat/$id', params: { id }, replace: true });
  };
  return (
    <span className="inline-flex items-center text-tiny tabular-nums">
      <button type="button" className="icon-btn" aria-label="Previous version" onClick={() => go(-1)}>
        <ChevronLeft size={15} aria-hidden />
      </button>
      {at + 1}/{family.length}
      <button type="button" className="icon-btn" aria-label="Next version" onClick={() => go(1)}>
        <ChevronRight size={15} aria-hidden />
      </button>
    </span>
  );
}

type Sessions = ReturnType<typeof useStore.getState>['sessions'];
type Conversations = ReturnType<typeof useStore.getState>['conversations'];

/** Sessions of the family that part at this turn, oldest first. */
function familyAt(sessions: Sessions, conversations: Conversations, sessionId: string, turnId: string): string[] {
  const here = sessions[sessionId];
  if (!here) return [];
  const users = conversations[sessionId]?.turns.filter((turn) => turn.type === 'user') ?? [];
  const relatives = Object.values(sessions).filter((session) => session.root === here.root && session.id !== sessionId);
  // A fork says at which turn of its original it began; that turn is shared, or is the one replaced.
  const parting = here.forkTurn;
  const isOurs = parting !== null && users.at(-1) !== undefined && (parting === turnId || isReplacement(users, turnId, parting));
  const part = isOurs ? parting : turnId;
  const family = relatives.filter((session) => session.forkTurn === part || (isOurs && session.id === here.root));
  if (family.length === 0) return [];
  const members = [...family.map((session) => session.id), sessionId];
  return members.sort((left, right) => (left < right ? -1 : 1));
}

/** An edited message has a turn of its own where the old one was. */
function isReplacement(users: { id: string }[], turnId: string, parting: string): boolean {
  return !users.some((turn) => turn.id === parting) && users.find((turn) => turn.id > parting)?.id === turnId;
}
