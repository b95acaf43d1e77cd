import { useRef, useState } from 'react';
import type { Provider, ProviderTest } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { Form } from '../../ui/form';
import { Modal } from '../../ui/Modal';
import { KINDS } from './kinds';
import { KindSelect, ProviderFields } from './ProviderFields';
import { saveProvider, type SavedProvider } from './saveProvider';
import { factsOf, TestLine } from './TestLine';

export interface ProviderFormProps {
  provider?: Provider;
  kind?: string;
  close: () => void;
  done: (saved: SavedProvider) => void;
}

/** Adds or changes a provider, then tests it or starts its sign-in. */
export function ProviderForm({ provider, kind: given, close, done }: ProviderFormProps) {
  const [kind, setKind] = useState(provider?.kind ?? given ?? 'openai');
  const [failed, setFailed] = useState<{ name: string; test: ProviderTest }>();
  // The next press saves the provider although its test failed.
  const anyway = useRef(false);
  const chosen = KINDS.find((one) => one.id === kind);
  const save = async (field: (name: string) => string) => {
    setFailed(undefined);
    const saved = await saveProvider(field, kind, provider);
    if (saved.signsIn) return done(saved);
    const { name } = saved;
    const test = await onyx.admin.testProvider(name);
    if (!test.ok) {
      // A new provider that failed its test is removed, unless the person saves it anyway.
      if (!provider && !anyway.current) await onyx.admin.removeProvider(name);
      if (!anyway.current) return setFailed({ name, test });
      return done(saved);
    }
    toast(`${name} works: ${factsOf(test)}`);
    done(saved);
  };
  // An existing provider stays changed, whether or not its test succeeded.
  const leave = failed && provider ? () => done({ name: failed.name, signsIn: false }) : close;
  const title = provider ? `Edit ${provider.name}` : 'Connect a provider';
  const action = !provider && chosen?.login ? 'Save and sign in' : 'Save and test';
  return (
    <Modal label={title} onClose={leave} className="max-w-115">
      <div className="max-h-[85dvh] overflow-y-auto p-5">
        <h2 className="mb-3 font-semibold">{title}</h2>
        <Form action={action} onSubmit={save} onCancel={leave}>
          <KindSelect kind={kind} onKind={setKind} />
          <ProviderFields kind={chosen} provider={provider} />
          {failed && <FailedTest test={failed.test} onAnyway={provider ? undefined : () => (anyway.current = true)} />}
        </Form>
      </div>
    </Modal>
  );
}

/** Why the test failed. A new provider was removed then, and can be saved anyway. */
function FailedTest({ test, onAnyway }: { test: ProviderTest; onAnyway?: () => void }) {
  return (
    <div role="alert">
      <div className="-mx-4">
        <TestLine test={test} />
      </div>
      {onAnyway && (
        <p className="meta">
          Nothing was saved. Correct it and try again, or{' '}
          <button type="submit" className="text-accent underline underline-offset-3" onClick={onAnyway}>
            save it anyway
          </button>
          .
        </p>
      )}
    </div>
  );
}
