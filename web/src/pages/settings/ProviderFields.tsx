import type { Provider } from '@onyx/sdk';
import { Field } from '../../ui/form';
import { KINDS, type Kind } from './kinds';

/** The choice of a provider's kind. A kind that this form does not know stays as the config has it. */
export function KindSelect({ kind, onKind }: { kind: string; onKind: (kind: string) => void }) {
  return (
    <label className="meta block">
      Kind
      <select className="field mt-1 text-text" value={kind} onChange={(event) => onKind(event.target.value)}>
        {KINDS.map((one) => (
          <option key={one.id} value={one.id}>
            {one.title}
          </option>
        ))}
        {!KINDS.some((one) => one.id === kind) && <option value={kind}>{kind}</option>}
      </select>
    </label>
  );
}

/** What a kind of provider asks for. Some of it is asked only before the provider exists. */
export function ProviderFields({ kind, provider }: { kind?: Kind; provider?: Provider }) {
  const login = provider ? undefined : kind?.login;
  return (
    <>
      {!provider && login !== 'known' && <NameField key={kind?.id} kind={kind} />}
      {kind?.program && <ProgramFields program={kind.program} />}
      {login !== 'known' && !kind?.program && (
        <Field
          label="Address"
          name="address"
          type="url"
          defaultValue={provider?.address ?? ''}
          required={login === 'given' || (kind?.needsAddress ?? false)}
          placeholder={kind?.address ?? (login === 'given' ? 'https://models.example.org/v1' : 'the provider’s own')}
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
      {login === 'given' && <SignInAddresses />}
      {!provider &&
        kind?.extras?.map((extra) => (
          <Field
            key={`${kind.id} ${extra.name}`}
            label={extra.label}
            name={extra.name}
            type={extra.secret ? 'password' : 'text'}
            autoComplete="off"
            placeholder={extra.placeholder}
            hint={extra.hint}
          />
        ))}
      {kind?.needsKey !== false && (
        <Field
          label="Key"
          name="key"
          type="password"
          autoComplete="off"
          placeholder={provider?.key ? `${provider.key} (kept unless you enter another)` : ''}
          hint="Or where to find it: env:NAME, file:/path, secret:name."
        />
      )}
    </>
  );
}

function NameField({ kind }: { kind?: Kind }) {
  return (
    <Field
      label="Name"
      name="name"
      defaultValue={kind?.name}
      required
      pattern="[a-z0-9][a-z0-9_\-]*"
      hint="Models are then called <name>/<model>."
    />
  );
}

function ProgramFields({ program: { usual, signIn, token } }: { program: NonNullable<Kind['program']> }) {
  return (
    <>
      <Field label="Program" name="command" placeholder={usual} hint={signIn} />
      {token && <Field label="Token" name="key" type="password" autoComplete="off" hint={token} />}
    </>
  );
}

function SignInAddresses() {
  return (
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
  );
}
