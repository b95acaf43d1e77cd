import { useMemo } from 'react';
import { useStore } from '../store/state';
import { money, tokens } from '../ui/time';

/** A window that most models have; the server does not tell each model's own yet. */
const WINDOW = 200_000;

/** How full the model's window was at the last answer, and what this chat has cost. */
export function Gauge({ sessionId }: { sessionId?: string }) {
  const turns = useStore((state) => (sessionId ? state.conversations[sessionId]?.turns : undefined));
  const { size, cost } = useMemo(() => {
    const ends = (turns ?? []).flatMap((turn) => (turn.type === 'run_end' ? [turn.usage] : []));
    const last = ends.at(-1);
    const costs = ends.flatMap((usage) => (usage.cost === undefined ? [] : [usage.cost]));
    return { size: last ? last.input + last.output : 0, cost: costs.length > 0 ? costs.reduce((sum, one) => sum + one, 0) : undefined };
  }, [turns]);
  if (size === 0) return null;
  const share = Math.min(100, Math.round((size / WINDOW) * 100));
  return (
    <span className="hidden items-center gap-2 text-meta text-dim sm:inline-flex" title={`${tokens(size)} tokens in the last exchange`}>
      <span className="h-1 w-16 overflow-hidden rounded-full bg-line" role="img" aria-label={`${tokens(size)} tokens of context used`}>
        <span className="block h-full bg-dim" style={{ width: `${Math.max(share, 2)}%` }} />
      </span>
      {cost ? money(cost) : tokens(size)}
    </span>
  );
}
