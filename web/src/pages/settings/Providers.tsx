import { useState } from 'react';
import { Plus } from 'lucide-react';
import type { Model, Provider, ProviderTest } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Card, Line, Section } from '../../ui/form';
import { Confirm } from '../../ui/Modal';
import { Empty, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { Words } from '../../ui/words';
import { DefaultModel } from './DefaultModel';
import { FoundLine } from './Found';
import { useFound } from './logins';
import { ProviderForm } from './ProviderForm';
import { ProviderLogin } from './ProviderLogin';
import { TestLine } from './TestLine';

const UNTRIED: [string, string] = ['not used yet', 'text-dim'];
const HEALTH: Record<string, [string, string]> = {
  well: ['well', 'text-ok-text'],
  failing: ['failing', 'text-danger'],
};

export function Providers() {
  const providers = useLoaded('providers', () => onyx.admin.providers());
  const found = useFound(providers.data !== undefined);
  const [editing, setEditing] = useState<Provider | 'new'>();
  // The results of tests made while adding.
  const [tried, setTried] = useState<Record<string, ProviderTest>>({});
  const again = () => (providers.reload(), found.reload());
  const done = () => {
    setEditing(undefined);
    again();
  };
  return (
    <>
      <Section
        title="Providers"
        detail="Where models come from. Keys are stored encrypted and never shown again."
        action={
          <button type="button" className="btn" onClick={() => setEditing('new')}>
            <Plus size={15} aria-hidden /> Add
          </button>
        }
      >
        <Shown of={providers}>
          {(list) =>
            list.length === 0 ? (
              <div className="card">
                <Empty>No providers connected.</Empty>
              </div>
            ) : (
              <Card>
                {list.map((provider) => (
                  <ProviderLine
                    key={provider.name}
                    provider={provider}
                    tried={tried[provider.name]}
                    onEdit={() => setEditing(provider)}
                    onChange={again}
                  />
                ))}
              </Card>
            )
          }
        </Shown>
        {providers.data && (
          <Shown of={found} rows={0}>
            {(list) =>
              list.length > 0 && (
                <div className="mt-4">
                  <Card>
                    {list.map((one) => (
                      <FoundLine
                        key={one.name}
                        found={one}
                        action="Add"
                        onAdded={(test) => (setTried({ ...tried, [one.name]: test }), again())}
                      />
                    ))}
                  </Card>
                </div>
              )
            }
          </Shown>
        )}
        {editing && (
          <ProviderForm
            provider={editing === 'new' ? undefined : editing}
            close={() => setEditing(undefined)}
            done={done}
          />
        )}
      </Section>
      <DefaultModel providers={providers.data} />
    </>
  );
}

function ProviderLine({
  provider,
  tried,
  onEdit,
  onChange,
}: {
  provider: Provider;
  tried?: ProviderTest;
  onEdit: () => void;
  onChange: () => void;
}) {
  const [busy, setBusy] = useState<'test' | 'models'>();
  const [test, setTest] = useState(tried);
  const [models, setModels] = useState<Model[]>();
  const [asking, setAsking] = useState(false);
  const { name } = provider;
  const run = async <T,>(what: 'test' | 'models', failed: string, act: () => Promise<T>, keep: (answer: T) => void) => {
    setBusy(what);
    const answer = await attempt(failed, act);
    setBusy(undefined);
    if (answer !== undefined) keep(answer);
  };
  // After a refusal the list shows that a new sign-in is needed.
  const tested = (answer: ProviderTest) => (setTest(answer), onChange());
  const remove = async (yes: boolean) => {
    setAsking(false);
    if (!yes) return;
    const removed = await attempt('The provider was not removed', () =>
      onyx.admin.removeProvider(name).then(() => true),
    );
    if (removed) toast(`${name} was removed`);
    if (removed) onChange();
  };
  // The sign-in below shows what is missing and what to do.
  const isLocked = provider.login !== undefined && provider.login !== null && provider.login.state !== 'signed_in';
  const [word, color] = isLocked
    ? ['', '']
    : provider.state === 'disabled'
      ? ['disabled', 'text-warn']
      : (HEALTH[provider.health] ?? UNTRIED);
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
        <button
          type="button"
          className="btn"
          disabled={busy !== undefined}
          onClick={() =>
            void run('test', 'The provider could not be tested', () => onyx.admin.testProvider(name), tested)
          }
        >
          {busy === 'test' ? 'Testing…' : 'Test'}
        </button>
        <button
          type="button"
          className="btn"
          disabled={busy !== undefined}
          onClick={() =>
            void run('models', 'The models could not be listed', () => onyx.admin.providerModels(name), setModels)
          }
        >
          {busy === 'models' ? 'Asking…' : 'Models'}
        </button>
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
      {asking && (
        <Confirm
          question={`Remove ${name}?`}
          detail="Agents that use its models cannot answer until they have another one."
          action="Remove"
          onAnswer={(yes) => void remove(yes)}
        />
      )}
    </div>
  );
}

/** The end of the key, if the server shows it. */
const keyOf = ({ key }: Provider) => key && (key === '…' ? 'key set' : `key ${key}`);

/** The model's figures in words, such as `200k · $3 in, $15 out per million`. */
function aboutModel({ contextWindow, price }: Model): string {
  const window = typeof contextWindow === 'number' ? `${Math.round(contextWindow / 1000)}k` : undefined;
  const free = price?.input === 0 && price.output === 0;
  const cost = price && (free ? 'free' : `$${price.input} in, $${price.output} out per million`);
  return [window, cost].filter(Boolean).join(' · ');
}

function ModelList({ models }: { models: Model[] }) {
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
