import { useMemo } from 'react';
import { onyx, watch } from '../store/client';
import { useStore } from '../store/state';

/** The model's name without `<provider>/`, for small places. */
export const shortModel = (model: string) => model.split('/').slice(1).join('/') || model;

let asked: Promise<void> | undefined;

/** Asks each provider once for its models. A provider that does not answer keeps its known models. */
export function loadModels(): Promise<void> {
  asked ??= readModels().catch(() => {
    // Without a connection the next caller asks again.
    asked = undefined;
  });
  return asked;
}

async function readModels(): Promise<void> {
  if (useStore.getState().me?.role !== 'owner') return;
  const providers = await onyx.admin.providers();
  const lists = await Promise.allSettled(providers.map(({ name }) => onyx.admin.providerModels(name)));
  const found = lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : []));
  useStore.setState((state) => ({
    models: { ...Object.fromEntries(found.map((model) => [model.id, model])), ...state.models },
  }));
}

// A provider that was added or changed may have other models.
watch('config', () => {
  asked = undefined;
});

/** Every known model: those of the providers, and those that agents name. */
export function useModels(): string[] {
  const agents = useStore((state) => state.status?.agents);
  const known = useStore((state) => state.models);
  return useMemo(() => {
    const named = (agents ?? []).flatMap((agent) => [agent.model ?? [], agent.fallbacks].flat());
    return [...new Set([...named, ...Object.keys(known)])];
  }, [agents, known]);
}
