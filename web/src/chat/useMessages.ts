import { useMemo } from 'react';
import { fromTurns, type Message } from '../store/messages';
import { useStore } from '../store/state';
import { arranged, lastTries } from '../store/waiting';

/** What a conversation shows: its log, the run at work, words on their way. */
export function useMessages(sessionId: string | undefined): Message[] {
  const conversation = useStore((state) => (sessionId === undefined ? undefined : state.conversations[sessionId]));
  const isThread = useStore((state) => sessionId !== undefined && state.sessions[sessionId]?.origin === 'thread');
  const pending = useStore((state) => state.pending);
  const turns = conversation?.turns;
  const live = conversation?.live;
  const notes = useStore((state) => state.notes);
  const stored = useMemo(() => fromTurns(turns ?? [], live?.runId, notes), [turns, live?.runId, notes]);
  const waiting = useMemo(() => pending.filter((item) => item.sessionId === sessionId), [pending, sessionId]);
  const logged = useMemo(() => new Set(turns?.map((turn) => turn.id)), [turns]);
  const inLog = useMemo(() => new Set(turns?.flatMap((turn) => (turn.type === 'user' ? [turn.runId] : []))), [turns]);
  return useMemo(() => {
    const there = waiting.filter((item) => !(item.turnId && logged.has(item.turnId)));
    return [...(isThread ? lastTries(stored) : stored), ...arranged(there, live, inLog)];
  }, [stored, isThread, waiting, live, logged, inLog]);
}
