import { ShieldAlert } from 'lucide-react';
import { useStore } from '../store/state';

/** Shown when the last run read content from outside; from then on the run asks before it contacts anything. */
export function TaintMark({ sessionId }: { sessionId: string }) {
  const tainted = useStore((state) => {
    const conversation = state.conversations[sessionId];
    if (conversation?.live)
      return conversation.live.answers.some((answer) =>
        answer.parts.some((part) => part.kind === 'note' && part.code === 'tainted'),
      );
    const last = conversation?.turns.at(-1)?.runId;
    return conversation?.turns.some((turn) => turn.runId === last && turn.origin === 'agent_tainted') ?? false;
  });
  if (!tainted) return null;
  return (
    <span
      className="chip text-warn"
      title="This chat has read outside content. Anything that leaves this machine asks you first."
    >
      <ShieldAlert size={14} aria-hidden /> <span className="max-sm:sr-only">has read outside content</span>
    </span>
  );
}
