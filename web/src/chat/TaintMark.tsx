import { ShieldAlert } from 'lucide-react';
import { useStore } from '../store/state';

/** The last run read something from outside: from then on it needed a person to reach out. */
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
      <ShieldAlert size={14} aria-hidden /> <span className="max-sm:sr-only">read from outside</span>
    </span>
  );
}
