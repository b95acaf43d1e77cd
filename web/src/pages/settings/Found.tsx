import { useState } from 'react';
import type { ProviderTest } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Line } from '../../ui/form';
import type { FoundProvider } from './logins';

const TITLES: Record<string, string> = { ollama: 'Ollama', lmstudio: 'LM Studio', vllm: 'vLLM' };

export const saysFound = ({ name, models }: FoundProvider) => `${TITLES[name] ?? name} is running here with ${models.length === 1 ? 'one model' : `${models.length} models`}`;

/** Makes a provider of it and tries it at once. Its name says what it is. */
export async function addFound({ name, baseUrl }: FoundProvider): Promise<ProviderTest | undefined> {
  return attempt(`${TITLES[name] ?? name} was not added`, async () => {
    await onyx.admin.setProvider(name, { baseUrl });
    return onyx.admin.testProvider(name);
  });
}

/** One that runs on this machine, and a press that adds it. */
export function FoundLine({ found, action, onAdded }: { found: FoundProvider; action: string; onAdded: (test: ProviderTest) => void | Promise<void> }) {
  const [busy, setBusy] = useState(false);
  const add = async () => {
    setBusy(true);
    const test = await addFound(found);
    if (test) await onAdded(test);
    setBusy(false);
  };
  return (
    <Line label={saysFound(found)} detail={found.baseUrl}>
      <button type="button" className="btn" aria-label={`${action} ${TITLES[found.name] ?? found.name}`} disabled={busy} onClick={() => void add()}>
        {busy ? 'Adding…' : action}
      </button>
    </Line>
  );
}
