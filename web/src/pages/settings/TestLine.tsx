import type { ProviderTest } from '@onyx/sdk';

/** The number of models and the response time. */
export const factsOf = ({ modelCount, latencyMs }: ProviderTest): string =>
  [
    typeof modelCount === 'number' && `${modelCount} ${modelCount === 1 ? 'model' : 'models'}`,
    typeof latencyMs === 'number' && `${Math.round(latencyMs)} ms`,
  ]
    .filter(Boolean)
    .join(', ');

export function TestLine({ test }: { test: ProviderTest }) {
  return (
    <p
      role="status"
      className={`px-4 pb-2.5 text-meta [overflow-wrap:anywhere] ${test.ok ? 'text-ok-text' : 'text-danger'}`}
    >
      {test.ok ? `It works: ${factsOf(test)}.` : test.advice}
    </p>
  );
}
