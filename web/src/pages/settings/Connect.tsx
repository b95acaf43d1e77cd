import { useState } from 'react';
import { Check } from 'lucide-react';
import type { FoundProvider, ProviderTest } from '@onyx/sdk';
import { onyx, refreshStatus } from '../../store/client';
import { toast, useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { FoundLine } from './Found';
import { useFound } from './logins';
import { ProviderForm } from './ProviderForm';
import { ProviderLogin } from './ProviderLogin';
import { TestLine } from './TestLine';

type Step =
  | { at: 'offer' }
  | { at: 'signing in'; name: string }
  | { at: 'choosing'; name: string; test?: ProviderTest; model?: string };

async function answerWith(agent: { id: string; name: string } | undefined, model: string): Promise<boolean> {
  if (!agent || !(await attempt('The model was not set', () => onyx.agents.update(agent.id, { model })))) return false;
  toast(`${agent.name} answers with ${model} now`);
  void refreshStatus();
  return true;
}

/** The first steps to a better model: a local one, a key, or a sign-in. Every step can be skipped. */
export function Connect({
  signing,
  onBegin,
  onDone,
}: {
  signing?: string;
  onBegin: (signing?: string) => void;
  onDone: () => void;
}) {
  const [step, setStep] = useState<Step>(signing === undefined ? { at: 'offer' } : { at: 'signing in', name: signing });
  const [form, setForm] = useState<string>();
  const found = useFound(step.at === 'offer');
  const agent = useStore((state) => state.status?.agents.find((one) => one.default));
  const go = (next: Step) => {
    onBegin(next.at === 'signing in' ? next.name : undefined);
    setStep(next);
  };
  const take = async ({ name, answersWith }: FoundProvider, test: ProviderTest) => {
    const first = test.ok && answersWith ? `${name}/${answersWith}` : undefined;
    const model = first !== undefined && (await answerWith(agent, first)) ? first : undefined;
    go({ at: 'choosing', name, test, model });
  };
  return (
    <section aria-label="Connect a better model" className="card mx-auto mt-8 w-full max-w-120 text-left">
      {step.at === 'offer' && <Offer found={found.data ?? []} onForm={setForm} onAdded={take} onDone={onDone} />}
      {step.at === 'signing in' && (
        <div className="p-4">
          <h3 className="mb-2 font-semibold">Sign in to {step.name}</h3>
          <ProviderLogin
            name={step.name}
            onState={(state) => state === 'signed_in' && go({ at: 'choosing', name: step.name })}
          />
          <Leave label="Later" onDone={onDone} />
        </div>
      )}
      {step.at === 'choosing' && <ChooseModel {...step} agent={agent} onDone={onDone} />}
      {form && (
        <ProviderForm
          kind={form}
          close={() => setForm(undefined)}
          done={({ name, signsIn }) => {
            setForm(undefined);
            go(signsIn ? { at: 'signing in', name } : { at: 'choosing', name });
          }}
        />
      )}
    </section>
  );
}

interface OfferProps {
  /** What runs on this machine already. */
  found: FoundProvider[];
  /** Opens the form of this kind of provider. */
  onForm: (kind: string) => void;
  onAdded: (one: FoundProvider, test: ProviderTest) => Promise<void>;
  onDone: () => void;
}

/** The ways to a better model. */
function Offer({ found, onForm, onAdded, onDone }: OfferProps) {
  return (
    <>
      <div className="p-4 pb-3">
        <h3 className="font-semibold">Connect a better model</h3>
        <p className="meta">
          For now a small model on this machine answers. It can chat but makes mistakes and cannot use tools. To work
          with your files, your agent needs a better model.
        </p>
      </div>
      {found.length > 0 && (
        <div className="divide-y divide-line border-y border-line">
          {found.map((one, index) => (
            <FoundLine
              key={one.name}
              found={one}
              action="Use"
              tone={index === 0 ? 'btn-primary' : ''}
              onAdded={(test) => onAdded(one, test)}
            />
          ))}
        </div>
      )}
      <div className="flex flex-wrap gap-2 p-4 pt-3">
        <button type="button" className={found.length > 0 ? 'btn' : 'btn btn-primary'} onClick={() => onForm('openai')}>
          Use a key
        </button>
        <button type="button" className="btn" onClick={() => onForm('github_copilot')}>
          Sign in
        </button>
        {!found.some(({ name }) => name === 'ollama') && (
          <button type="button" className="btn" onClick={() => onForm('ollama')}>
            Ollama
          </button>
        )}
        <button type="button" className="btn ml-auto" onClick={onDone}>
          Not now
        </button>
      </div>
    </>
  );
}

const Leave = ({ label, onDone }: { label: string; onDone: () => void }) => (
  <div className="mt-3 text-right">
    <button type="button" className="btn" onClick={onDone}>
      {label}
    </button>
  </div>
);

function ChooseModel({
  name,
  test,
  model: chosen,
  agent,
  onDone,
}: {
  name: string;
  test?: ProviderTest;
  model?: string;
  agent?: { id: string; name: string };
  onDone: () => void;
}) {
  const models = useLoaded(`first-run models ${name}`, () => onyx.admin.providerModels(name));
  const who = agent?.name ?? 'your agent';
  const use = async (model: string) => {
    if (await answerWith(agent, model)) onDone();
  };
  return (
    <div className="p-4">
      <h3 className="font-semibold">
        {chosen ? `${who} answers with ${chosen} now` : `Which model should ${who} use?`}
      </h3>
      {test && (
        <div className="-mx-4 -mb-2.5">
          <TestLine test={test} />
        </div>
      )}
      <Shown of={models} rows={2} height="h-8">
        {(list) => (
          <ul className="mt-2 max-h-52 overflow-auto" tabIndex={0} aria-label="Models">
            {list.map(({ id }) => (
              <li key={id}>
                <button
                  type="button"
                  className="menu-item font-mono"
                  aria-pressed={id === chosen}
                  onClick={() => void use(id)}
                >
                  <span className="min-w-0 flex-1 truncate">{id}</span>
                  {id === chosen && <Check size={15} aria-hidden />}
                </button>
              </li>
            ))}
          </ul>
        )}
      </Shown>
      <Leave label={chosen ? 'Done' : 'Later'} onDone={onDone} />
    </div>
  );
}
