import { useState } from 'react';
import type { Model, Provider, ProviderTest } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Line } from '../../ui/form';
import { Confirm } from '../../ui/Modal';
import { Words } from '../../ui/words';
import { ModelList } from './ModelList';
import { ProviderLogin } from './ProviderLogin';
import { TestLine } from './TestLine';

const UNTRIED: [string, string] = ['not used yet', 'text-dim'];
const HEALTH: Record<string, [string, string]> = {
  well: ['well', 'text-ok-text'],
  failing: ['failing', 'text-danger'],
};

interface ProviderLineProps {
  provider: Provider;
  /** The result of the test that was made while the provider was added. */
  tried?: ProviderTest;
  onEdit: () => void;
  onChange: () => void;
}

/** A provider of the list: its state, what can be done with it, and what came of its test. */
export function ProviderLine({ provider, tried, onEdit, onChange }: ProviderLineProps) {
  const [test, setTest] = useState(tried);
  const [models, setModels] = useState<Model[]>();
  const [asking, setAsking] = useState(false);
  const { name } = provider;
  // After a refusal the list shows that a new sign-in is needed.
  const tested = (answer: ProviderTest) => (setTest(answer), onChange());
  // The sign-in below shows what is missing and what to do.
  const isLocked = provider.login !== undefined && provider.login !== null && provider.login.state !== 'signed_in';
  const [word, color] = isLocked ? ['', ''] : healthOf(provider);
  const about = [provider.kind, provider.address, keyOf(provider), provider.account].filter(Boolean).join(' · ');
  return (
    <div>
      <Line
        label={
          <span className="flex items-center gap-2">
            <span className="truncate">{name}</span> <span className={`text-meta ${color}`}>{word}</span>
          </span>
        }
        detail={about}
      >
        <ProviderChecks name={name} onTested={tested} onModels={setModels} />
        <button type="button" className="btn" aria-label={`Edit ${name}`} onClick={onEdit}>
          Edit
        </button>
        <button type="button" className="btn btn-danger" aria-label={`Remove ${name}`} onClick={() => setAsking(true)}>
          Remove
        </button>
      </Line>
      {provider.detail && !isLocked && (
        <p className="px-4 pb-2.5 text-meta text-warn [overflow-wrap:anywhere]">
          <Words>{provider.detail}</Words>
        </p>
      )}
      {provider.login && (
        <div className="px-4 pb-3">
          <ProviderLogin
            name={name}
            known={provider.login}
            elsewhere={provider.kind === 'claude-cli' || provider.kind === 'pi'}
            onState={(_, before) => before && onChange()}
          />
        </div>
      )}
      {test && <TestLine test={test} />}
      {models && <ModelList models={models} />}
      {asking && <RemoveProvider name={name} close={() => setAsking(false)} onRemoved={onChange} />}
    </div>
  );
}

interface ProviderChecksProps {
  name: string;
  onTested: (test: ProviderTest) => void;
  onModels: (models: Model[]) => void;
}

/** The buttons that ask the provider whether it works and which models it has, one at a time. */
function ProviderChecks({ name, onTested, onModels }: ProviderChecksProps) {
  const [busy, setBusy] = useState<'test' | 'models'>();
  const run = async <T,>(what: 'test' | 'models', failed: string, act: () => Promise<T>, keep: (answer: T) => void) => {
    setBusy(what);
    const answer = await attempt(failed, act);
    setBusy(undefined);
    if (answer !== undefined) keep(answer);
  };
  const test = () => run('test', 'The provider could not be tested', () => onyx.admin.testProvider(name), onTested);
  const list = () => run('models', 'The models could not be listed', () => onyx.admin.providerModels(name), onModels);
  return (
    <>
      <button type="button" className="btn" disabled={busy !== undefined} onClick={() => void test()}>
        {busy === 'test' ? 'Testing…' : 'Test'}
      </button>
      <button type="button" className="btn" disabled={busy !== undefined} onClick={() => void list()}>
        {busy === 'models' ? 'Asking…' : 'Models'}
      </button>
    </>
  );
}

function RemoveProvider({ name, close, onRemoved }: { name: string; close: () => void; onRemoved: () => void }) {
  const remove = async (yes: boolean) => {
    close();
    if (!yes) return;
    const removed = await attempt('The provider was not removed', () =>
      onyx.admin.removeProvider(name).then(() => true),
    );
    if (!removed) return;
    toast(`${name} was removed`);
    onRemoved();
  };
  return (
    <Confirm
      question={`Remove ${name}?`}
      detail="Agents that use its models cannot answer until they have another one."
      action="Remove"
      onAnswer={(yes) => void remove(yes)}
    />
  );
}

function healthOf({ state, health }: Provider): [string, string] {
  return state === 'disabled' ? ['disabled', 'text-warn'] : (HEALTH[health] ?? UNTRIED);
}

/** The end of the key, if the server shows it. */
const keyOf = ({ key }: Provider) => key && (key === '…' ? 'key set' : `key ${key}`);
