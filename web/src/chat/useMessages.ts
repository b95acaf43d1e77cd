import { useMemo } from 'react';
import { fromTurns, type Message, type Words } from '../store/messages';
import { useStore, type Pending } from '../store/state';

/** What a conversation shows: its log, the run at work, words on their way. */
export function useMessages(sessionId: string | undefined): Message[] {
  const conversation = useStore((state) => (sessionId === undefined ? undefined : state.conversations[sessionId]));
  const pending = useStore((state) => state.pending);
  const turns = conversation?.turns;
  const live = conversation?.live;
  const stored = useMemo(() => fromTurns(turns ?? [], live?.runId), [turns, live?.runId]);
  const waiting = useMemo(() => pending.filter((item) => item.sessionId === sessionId).map(words), [pending, sessionId]);
  const inLog = useMemo(() => new Set(turns?.flatMap((turn) => (turn.type === 'user' ? [turn.runId] : []))), [turns]);
  return useMemo(() => {
    const isQuestion = (item: Words) => item.state !== 'queued' && item.runId !== undefined && item.runId === live?.runId;
    // The words that began the run at work stand before its answer, all others after it.
    const question = waiting.filter((item) => isQuestion(item) && !inLog.has(item.runId));
    const after = waiting.filter((item) => !isQuestion(item) && !(item.state !== 'queued' && inLog.has(item.runId)));
    const shown = question.filter((item) => item.content !== '');
    return [...stored, ...shown, ...(live?.answers ?? []), ...after.filter((item) => item.content !== '')];
  }, [stored, waiting, live, inLog]);
}

function words(item: Pending): Words {
  return { kind: 'words', id: item.key, content: item.content, ts: item.at, runId: item.runId, state: item.state, fault: item.fault };
}
