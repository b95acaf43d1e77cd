import { useMemo } from 'react';
import { fromTurns } from '../store/loggedMessages';
import type { Message } from '../store/messages';
import { useStore } from '../store/state';
import { arranged, lastTries, withQueued } from '../store/waiting';

/** The messages of a conversation: its log, the active run, and messages that are being sent. */
export function useMessages(sessionId: string | undefined): Message[] {
  const conversation = useStore((state) => (sessionId === undefined ? undefined : state.conversations[sessionId]));
  const origin = useStore((state) => (sessionId === undefined ? undefined : state.sessions[sessionId]?.origin));
  const isThread = origin === 'thread';
  // Companions and threads have a queue of their own.
  const isChat = !isThread && origin !== 'companion';
  const pending = useStore((state) => state.pending);
  const turns = conversation?.turns;
  const live = conversation?.live;
  const queued = conversation?.queued;
  const notes = useStore((state) => state.notes);
  const stored = useMemo(() => fromTurns(turns ?? [], live?.runId, notes), [turns, live?.runId, notes]);
  const waiting = useMemo(() => pending.filter((item) => item.sessionId === sessionId), [pending, sessionId]);
  const logged = useMemo(() => new Set(turns?.map((turn) => turn.id)), [turns]);
  const inLog = useMemo(() => new Set(turns?.flatMap((turn) => (turn.type === 'user' ? [turn.runId] : []))), [turns]);
  return useMemo(() => {
    const there = waiting.filter((item) => !logged.has(item.turnId ?? item.queuedTurn ?? ''));
    const unread = isChat ? queued?.filter(({ id }) => !logged.has(id)) : undefined;
    const all = sessionId && unread?.length ? withQueued(there, sessionId, unread, live) : there;
    return [...(isThread ? lastTries(stored) : stored), ...arranged(all, live, inLog)];
  }, [stored, isThread, isChat, sessionId, waiting, queued, live, logged, inLog]);
}
