import { useState } from 'react';
import type { Provider, ProviderTest } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { Field, Form } from '../../ui/form';
import { Modal } from '../../ui/Modal';
import { TestLine } from './Providers';

interface Kind {
  id: string;
  title: string;
  /** What it is called in the config unless the person says otherwise. */
  name: string;
  address?: string;
  needsKey: boolean;
}

export const KINDS: Kind[] = [
  { id: 'openai', title: 'OpenAI, or anything that speaks like it', name: 'openai', address: 'https://api.openai.com/v1', needsKey: true },
  { id: 'anthropic', title: 'Anthropic', name: 'anthropic', needsKey: true },
  { id: 'gemini', title: 'Google Gemini', name: 'gemini', needsKey: true },
  { id: 'ollama', title: 'Ollama on this network', name: 'ollama', address: 'http://127.0.0.1:11434', needsKey: false },
  { id: 'openai-responses', title: 'OpenAI Responses', name: 'openai-responses', needsKey: true },
  { id: 'bedrock', title: 'Amazon Bedrock', name: 'bedrock', needsKey: false },
  { id: 'claude-cli', title: 'Claude Code on this machine', name: 'claude', needsKey: false },
];

/** Adds or changes a provider, then tries it at once. */
export function ProviderForm({ provider, kind: given, close, done }: { provider?: Provider; kind?: string; close: () => void; done: () => void }) {
  const [kind, setKind] = useState(provider?.kind ?? given ?? 'openai');
  const [test, setTest] = useState<ProviderTest>();
  const chosen = KINDS.find((one) => one.id === kind);
  const save = async (field: (name: string) => string) => {
    const name = provider?.name ?? field('name');
    setTest(undefined);
    const before = provider ? (await onyx.admin.provider(name)).settings : {};
    const key = field('key');
    // A key that says where it is belongs into the config; one that is one does not.
    const named = /^(env|file|secret):|^\$\{/.test(key);
    const settings = { ...before, kind, baseUrl: field('address') || undefined, ...(named && { apiKey: key }) };
    await onyx.admin.setProvider(name, settings, named ? undefined : key || undefined);
    const tried = await onyx.admin.testProvider(name);
    if (!tried.ok) return setTest(tried);
    toast(`${name} works: ${tried.modelCount ?? 0} models`);
    done();
  };
  return (
    <Modal label={provider ? `Edit ${provider.name}` : 'Connect a provider'} onClose={test ? done : close} className="max-w-115">
      <div className="p-5">
        <h2 className="mb-3 font-semibold">{provider ? `Edit ${provider.name}` : 'Connect a provider'}</h2>
        <Form action="Save and test" onSubmit={save} onCancel={test ? done : close}>
          <label className="meta block">
            Kind
            <select className="field mt-1 text-text" value={kind} onChange={(event) => setKind(event.target.value)}>
              {KINDS.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.title}
                </option>
              ))}
              {!chosen && <option value={kind}>{kind}</option>}
            </select>
          </label>
          {!provider && <Field key={kind} label="Name" name="name" defaultValue={chosen?.name} required pattern="[a-z0-9][a-z0-9_\-]*" hint="Models are then called <name>/<model>." />}
          <Field label="Address" name="address" type="url" defaultValue={provider?.address ?? ''} placeholder={chosen?.address ?? 'the maker’s own'} />
          {chosen?.needsKey !== false && (
            <Field label="Key" name="key" type="password" autoComplete="off" placeholder={provider?.key ? `${provider.key} (stays unless you write another)` : ''} hint="Or where it is: env:NAME, file:/path, secret:name." />
          )}
          {test && (
            <div className="-mx-4">
              <TestLine test={test} />
            </div>
          )}
        </Form>
      </div>
    </Modal>
  );
}
