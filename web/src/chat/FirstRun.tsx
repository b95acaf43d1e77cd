import { lazy, Suspense, useState } from 'react';
import type { Model } from '@onyx/sdk';
import { onyx, refreshStatus } from '../store/client';
import { keep, readKept } from '../store/kept';
import { toast, useStore } from '../store/state';
import { attempt } from '../ui/act';
import { useLoaded } from '../ui/useLoaded';

const ProviderForm = lazy(() => import('../pages/settings/ProviderForm').then((module) => ({ default: module.ProviderForm })));
const DISMISSED = 'onyx.first-run';

/** A quiet offer while only the small embedded model answers. */
export function FirstRun() {
  const owner = useStore((state) => state.me?.role === 'owner');
  const [dismissed, setDismissed] = useState(() => readKept(DISMISSED, false));
  const providers = useLoaded(owner && !dismissed ? 'first-run' : undefined, () => onyx.admin.providers());
  const [connecting, setConnecting] = useState<string>();
  const [connected, setConnected] = useState(false);
  const own = providers.data?.filter((provider) => provider.kind !== 'embedded');
  if (!owner || dismissed || !own || (own.length > 0 && !connected)) return null;
  const dismiss = () => {
    keep(DISMISSED, true);
    setDismissed(true);
  };
  return (
    <section aria-label="Connect a better model" className="card mx-auto mt-8 w-full max-w-120 p-4 text-left">
      {connected ? (
        <ChooseModel providers={own.map((provider) => provider.name)} done={dismiss} />
      ) : (
        <>
          <h3 className="font-semibold">Connect a better model</h3>
          <p className="meta mb-3">A small model on this machine answers for now. Everything works with it; a larger one is wiser.</p>
          <div className="flex flex-wrap gap-2">
            <button type="button" className="btn btn-primary" onClick={() => setConnecting('openai')}>
              Use a key
            </button>
            <button type="button" className="btn" onClick={() => setConnecting('ollama')}>
              Ollama
            </button>
            <button type="button" className="btn ml-auto" onClick={dismiss}>
              Not now
            </button>
          </div>
        </>
      )}
      {connecting && (
        <Suspense fallback={null}>
          <ProviderForm
            kind={connecting}
            close={() => setConnecting(undefined)}
            done={() => {
              setConnecting(undefined);
              setConnected(true);
              providers.reload();
            }}
          />
        </Suspense>
      )}
    </section>
  );
}

function ChooseModel({ providers, done }: { providers: string[]; done: () => void }) {
  const agent = useStore((state) => state.status?.agents.find((one) => one.default));
  const models = useLoaded(`first-run models ${providers.join()}`, async () => (await Promise.all(providers.map((name) => onyx.admin.providerModels(name)))).flat());
  const use = async (model: Model) => {
    if (!agent || !(await attempt('The model was not set', () => onyx.agents.update(agent.id, { model: model.id })))) return;
    toast(`${agent.name} answers with ${model.id} now`);
    void refreshStatus();
    done();
  };
  return (
    <>
      <h3 className="font-semibold">Which model shall {agent?.name ?? 'your agent'} use?</h3>
      <ul className="mt-2 max-h-52 overflow-auto" tabIndex={0} aria-label="Models">
        {models.data?.map((model) => (
          <li key={model.id}>
            <button type="button" className="menu-item font-mono" onClick={() => void use(model)}>
              {model.id}
            </button>
          </li>
        ))}
      </ul>
      <div className="mt-2 text-right">
        <button type="button" className="btn" onClick={done}>
          Later
        </button>
      </div>
    </>
  );
}
