import { useNavigate } from '@tanstack/react-router';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useMemo } from 'react';
import { useStore, type Conversation } from '../store/state';

/** Switches between the forks of a conversation at this turn: `2/3`, with arrows. */
export function Siblings({ sessionId, turnId }: { sessionId: string; turnId: string }) {
  const navigate = useNavigate();
  const conversation = useStore((state) => state.conversations[sessionId]);
  const family = useMemo(
    () => partingAt(conversation, sessionId, turnId),
    [conversation?.siblings, conversation?.turns, sessionId, turnId],
  );
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

/** The sessions of the family that fork at this turn, oldest first; fewer than two if none do. */
export function partingAt(conversation: Conversation | undefined, sessionId: string, turnId: string): string[] {
  const siblings = conversation?.siblings ?? [];
  if (siblings.length < 2) return [];
  const users = conversation?.turns.flatMap((turn) => (turn.type === 'user' ? [turn.id] : [])) ?? [];
  const own = siblings.find((sibling) => sibling.id === sessionId)?.forkTurn ?? undefined;
  // Another answer keeps the turn at which it forks; an edit replaces that turn.
  const edited = own !== undefined && !users.includes(own) && users.find((id) => id > own) === turnId;
  const parting = own === turnId || edited ? own : turnId;
  const forks = siblings.filter((sibling) => sibling.forkTurn === parting).map((sibling) => sibling.id);
  if (forks.length === 0) return [];
  // The session they fork from: this one, or the first of the family.
  const origin = forks.includes(sessionId) ? siblings.find((sibling) => !sibling.forkTurn)?.id : sessionId;
  return origin === undefined ? forks : [origin, ...forks];
}
