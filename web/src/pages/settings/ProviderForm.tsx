import { useRef, useState } from 'react';
import type { Provider, ProviderSettings, ProviderTest } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { Field, Form } from '../../ui/form';
import { Modal } from '../../ui/Modal';
import { KINDS, type Kind } from './kinds';
import { factsOf, TestLine } from './TestLine';

/** A reference to a secret; any other text is the secret itself. */
const REFERENCE = /^(env|file|secret):|^\$\{/;

/** Adds or changes a provider, then tests it or starts its sign-in. */
export function ProviderForm({
  provider,
  kind: given,
  close,
  done: onDone,
}: {
  provider?: Provider;
  kind?: string;
  close: () => void;
  done: (added: { name: string; signsIn: boolean }) => void;
}) {
  const [kind, setKind] = useState(provider?.kind ?? given ?? 'openai');
  const [failed, setFailed] = useState<{ name: string; test: ProviderTest }>();
  // The next press saves the provider although its test failed.
  const anyway = useRef(false);
  const chosen = KINDS.find((one) => one.id === kind);
  const login = provider ? undefined : chosen?.login;
  const program = chosen?.program;
  const save = async (field: (name: string) => string) => {
    const name = provider?.name ?? (login === 'known' ? chosen?.name : undefined) ?? field('name');
    setFailed(undefined);
    const before: ProviderSettings = provider ? (await onyx.admin.provider(name)).settings : {};
    const key = field('key');
    // A reference to a key is written to the config; the key itself is not.
    const named = REFERENCE.test(key);
    const signsIn = login && {
      login: {
        clientId: field('clientId'),
        deviceUrl: field('deviceUrl') || undefined,
        tokenUrl: field('tokenUrl') || undefined,
      },
    };
    const sealed = provider ? [] : await seal(name, chosen, field);
    const extra = (of: string) => (sealed.includes(of) ? `secret:${name}.${of}` : field(of));
    const settings = {
      ...before,
      // A kind that was not changed stays as the config has it.
      kind: provider?.kind === kind ? before.kind : chosen?.wire === null ? undefined : (chosen?.wire ?? kind),
      ...(program ? { command: field('command') || before.command } : { baseUrl: field('address') || undefined }),
      ...(named && { apiKey: key }),
      ...signsIn,
      ...(!provider && chosen?.settings?.(extra)),
    };
    try {
      await onyx.admin.setProvider(name, settings, named ? undefined : key || undefined);
    } catch (fault) {
      for (const of of sealed) await onyx.admin.removeSecret(`${name}.${of}`);
      throw fault;
    }
    if (signsIn) {
      await onyx.admin.beginProviderLogin(name);
      return onDone({ name, signsIn: true });
    }
    const test = await onyx.admin.testProvider(name);
    if (!test.ok) {
      // A new provider that failed its test is removed, unless the person saves it anyway.
      if (!provider && !anyway.current) await onyx.admin.removeProvider(name);
      if (!anyway.current) return setFailed({ name, test });
      return onDone({ name, signsIn: false });
    }
    toast(`${name} works: ${factsOf(test)}`);
    onDone({ name, signsIn: false });
  };
  // An existing provider stays changed, whether or not its test succeeded.
  const leave = failed && provider ? () => onDone({ name: failed.name, signsIn: false }) : close;
  return (
    <Modal label={provider ? `Edit ${provider.name}` : 'Connect a provider'} onClose={leave} className="max-w-115">
      <div className="max-h-[85dvh] overflow-y-auto p-5">
        <h2 className="mb-3 font-semibold">{provider ? `Edit ${provider.name}` : 'Connect a provider'}</h2>
        <Form action={login ? 'Save and sign in' : 'Save and test'} onSubmit={save} onCancel={leave}>
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
          {!provider && login !== 'known' && (
            <Field
              key={kind}
              label="Name"
              name="name"
              defaultValue={chosen?.name}
              required
              pattern="[a-z0-9][a-z0-9_\-]*"
              hint="Models are then called <name>/<model>."
            />
          )}
          {program && (
            <>
              <Field label="Program" name="command" placeholder={program.usual} hint={program.signIn} />
              {program.token && (
                <Field label="Token" name="key" type="password" autoComplete="off" hint={program.token} />
              )}
            </>
          )}
          {login !== 'known' && !program && (
            <Field
              label="Address"
              name="address"
              type="url"
              defaultValue={provider?.address ?? ''}
              required={login === 'given' || (chosen?.needsAddress ?? false)}
              placeholder={
                chosen?.address ?? (login === 'given' ? 'https://models.example.org/v1' : 'the provider’s own')
              }
            />
          )}
          {login && (
            <Field
              label="Client ID"
              name="clientId"
              required
              autoComplete="off"
              hint="The client ID of an app registered for device sign-in."
            />
          )}
          {login === 'given' && (
            <>
              <Field
                label="Address for codes"
                name="deviceUrl"
                type="url"
                required
                placeholder="https://login.example.org/device/code"
              />
              <Field
                label="Address for tokens"
                name="tokenUrl"
                type="url"
                required
                placeholder="https://login.example.org/token"
              />
            </>
          )}
          {!provider &&
            chosen?.extras?.map((extra) => (
              <Field
                key={`${kind} ${extra.name}`}
                label={extra.label}
                name={extra.name}
                type={extra.secret ? 'password' : 'text'}
                autoComplete="off"
                placeholder={extra.placeholder}
                hint={extra.hint}
              />
            ))}
          {chosen?.needsKey !== false && (
            <Field
              label="Key"
              name="key"
              type="password"
              autoComplete="off"
              placeholder={provider?.key ? `${provider.key} (kept unless you enter another)` : ''}
              hint="Or where to find it: env:NAME, file:/path, secret:name."
            />
          )}
          {failed && (
            <div role="alert">
              <div className="-mx-4">
                <TestLine test={failed.test} />
              </div>
              {!provider && (
                <p className="meta">
                  Nothing was saved. Correct it and try again, or{' '}
                  <button
                    type="submit"
                    className="text-accent underline underline-offset-3"
                    onClick={() => (anyway.current = true)}
                  >
                    save it anyway
                  </button>
                  .
                </p>
              )}
            </div>
          )}
        </Form>
      </div>
    </Modal>
  );
}

/** Stores the secret extras encrypted and returns their names. */
async function seal(name: string, kind: Kind | undefined, field: (name: string) => string): Promise<string[]> {
  const typed = (kind?.extras ?? []).filter((one) => one.secret && field(one.name) && !REFERENCE.test(field(one.name)));
  for (const one of typed) await onyx.admin.setSecret(`${name}.${one.name}`, field(one.name));
  return typed.map((one) => one.name);
}
