import type { Model } from '@onyx/sdk';

/** The model's figures in words, such as `200k · $3 in, $15 out per million`. */
function aboutModel({ contextWindow, price }: Model): string {
  const window = typeof contextWindow === 'number' ? `${Math.round(contextWindow / 1000)}k` : undefined;
  const free = price?.input === 0 && price.output === 0;
  const cost = price && (free ? 'free' : `$${price.input} in, $${price.output} out per million`);
  return [window, cost].filter(Boolean).join(' · ');
}

/** The models of a provider. */
export function ModelList({ models }: { models: Model[] }) {
  if (models.length === 0) return <p className="meta px-4 pb-2.5">No models listed.</p>;
  return (
    <ul
      className="max-h-60 overflow-auto border-t border-line px-4 py-2 font-mono text-[13px] leading-5"
      tabIndex={0}
      aria-label="Models"
    >
      {models.map((model) => (
        <li key={model.id} className="flex justify-between gap-4">
          <span className="truncate">{model.id}</span>
          <span className="shrink-0 text-dim">{aboutModel(model)}</span>
        </li>
      ))}
    </ul>
  );
}
