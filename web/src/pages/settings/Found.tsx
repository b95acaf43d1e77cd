import { useState } from 'react';
import type { FoundProvider, ProviderTest } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Line } from '../../ui/form';

const TITLES: Record<string, string> = { ollama: 'Ollama', lmstudio: 'LM Studio', vllm: 'vLLM' };

const titleOf = ({ name }: FoundProvider) => TITLES[name] ?? name;

const says = (found: FoundProvider) =>
  `${titleOf(found)} is running here with ${found.models.length === 1 ? 'one model' : `${found.models.length} models`}`;

/** Adds the found server as a provider, named after its program, and tests it. */
async function addFound(found: FoundProvider): Promise<ProviderTest | undefined> {
  const { name, baseUrl } = found;
  return attempt(`${titleOf(found)} was not added`, async () => {
    await onyx.admin.setProvider(name, { baseUrl });
    return onyx.admin.testProvider(name);
  });
}

/** A model server found on this machine, with a button that adds it. */
export function FoundLine({
  found,
  action,
  tone = '',
  onAdded,
}: {
  found: FoundProvider;
  action: string;
  tone?: 'btn-primary' | '';
  onAdded: (test: ProviderTest) => void | Promise<void>;
}) {
  const [busy, setBusy] = useState(false);
  const add = async () => {
    setBusy(true);
    const test = await addFound(found);
    if (test) await onAdded(test);
    setBusy(false);
  };
  return (
    <Line label={says(found)} detail={found.baseUrl}>
      <button type="button" className={`btn ${tone}`} disabled={busy} onClick={() => void add()}>
        {busy ? 'Adding…' : `${action} ${titleOf(found)}`}
      </button>
    </Line>
  );
}
