import { useMemo } from 'react';
import { useStore } from '../store/state';
import { money, tokens } from '../ui/time';

/** The assumed context window of a model whose window is unknown. */
const USUAL_WINDOW = 200_000;

/** How full the model's window was at the last answer, and what this chat has cost. */
export function Gauge({ sessionId }: { sessionId?: string }) {
  const turns = useStore((state) => (sessionId ? state.conversations[sessionId]?.turns : undefined));
  const models = useStore((state) => state.models);
  const { size, cost, model } = useMemo(() => {
    const ends = (turns ?? []).flatMap((turn) => (turn.type === 'run_end' ? [turn.usage] : []));
    const last = ends.at(-1);
    const said = (turns ?? []).findLast((turn) => turn.type === 'assistant_text');
    const costs = ends.flatMap((usage) => (typeof usage.cost === 'number' ? [usage.cost] : []));
    return {
      model: said?.type === 'assistant_text' ? said.model : undefined,
      size: last ? last.input + last.output : 0,
      cost: costs.length > 0 ? costs.reduce((sum, one) => sum + one, 0) : undefined,
    };
  }, [turns]);
  if (size === 0) return null;
  const window = (model && models[model]?.contextWindow) || USUAL_WINDOW;
  const share = Math.min(100, Math.round((size / window) * 100));
  return (
    <span
      className="inline-flex shrink-0 items-center gap-2 text-meta text-dim tabular-nums max-sm:gap-1.5 max-sm:text-tiny"
      title={`${tokens(size)} of ${tokens(window)} tokens in the last exchange`}
    >
      <span
        className="h-1 w-16 max-sm:w-5 overflow-hidden rounded-full bg-line"
        role="img"
        aria-label={`${tokens(size)} tokens of context used`}
      >
        <span className="block h-full bg-dim" style={{ width: `${Math.max(share, 2)}%` }} />
      </span>
      {cost ? money(cost) : tokens(size)}
    </span>
  );
}
