import { useState } from 'react';
import { Copy, Plus } from 'lucide-react';
import type { Credential, Grant, TokenMade } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { copy } from '../../ui/copy';
import { Card, Field, Form, Line, Section } from '../../ui/form';
import { Confirm, Sheet } from '../../ui/Modal';
import { Empty, Shown } from '../../ui/page';
import { ago } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';

const GRANTS: [Grant, string][] = [
  ['read', 'read your data'],
  ['write', 'change your data'],
  ['chat', 'use agents and models'],
  ['admin', 'administer Onyx'],
];
const LASTS: [string, string][] = [
  ['', 'unlimited time, until revoked'],
  ['86400', 'a day'],
  ['2592000', '30 days'],
  ['31536000', 'a year'],
];
const KINDS: Record<Credential['kind'], string> = { token: 'token', session: 'browser', refresh: 'SDK' };

export function Tokens() {
  const tokens = useLoaded('tokens', () => onyx.admin.tokens());
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<TokenMade>();
  const [revoking, setRevoking] = useState<Credential>();
  const revoke = async (token: Credential, yes: boolean) => {
    setRevoking(undefined);
    if (!yes || !(await attempt('Not revoked', () => onyx.admin.revokeToken(token.id).then(() => true)))) return;
    toast(`${token.name} was revoked`);
    tokens.reload();
  };
  return (
    <Section
      title="Tokens"
      detail="Access tokens of programs and browsers. Revoking a token also stops the work it started."
      action={
        <button type="button" className="btn" onClick={() => setMaking(true)}>
          <Plus size={15} aria-hidden /> New token
        </button>
      }
    >
      {made && <Made token={made} close={() => setMade(undefined)} />}
      <Shown of={tokens}>
        {(list) =>
          list.length === 0 ? (
            <div className="card">
              <Empty>No tokens yet.</Empty>
            </div>
          ) : (
            <Card>
              {list.map((token) => (
                <Line
                  key={token.id}
                  label={token.name}
                  detail={[
                    KINDS[token.kind],
                    token.people.join(', '),
                    token.scopes.join(', '),
                    `made ${ago(token.createdAt)}`,
                    token.expiresAt && `expires ${ago(token.expiresAt)}`,
                  ]
                    .filter(Boolean)
                    .join(' · ')}
                >
                  <button
                    type="button"
                    className="btn btn-danger"
                    aria-label={`Revoke ${token.name}`}
                    onClick={() => setRevoking(token)}
                  >
                    Revoke
                  </button>
                </Line>
              ))}
            </Card>
          )
        }
      </Shown>
      {making && (
        <NewToken
          close={() => setMaking(false)}
          done={(token) => {
            setMaking(false);
            setMade(token);
            tokens.reload();
          }}
        />
      )}
      {revoking && (
        <Confirm
          question={`Revoke ${revoking.name}?`}
          detail="Anything that uses it is signed out at once."
          action="Revoke"
          onAnswer={(yes) => void revoke(revoking, yes)}
        />
      )}
    </Section>
  );
}

function Made({ token, close }: { token: TokenMade; close: () => void }) {
  return (
    <div role="status" className="card mb-4 border-l-3 border-l-ok p-4">
      <p className="font-semibold">{token.name} is ready</p>
      <p className="meta mb-2">Copy it now. It will not be shown again.</p>
      <div className="flex items-center gap-2">
        <code className="min-w-0 flex-1 rounded-sm bg-sunken px-2 py-1 font-mono text-[13px] [overflow-wrap:anywhere]">
          {token.token}
        </code>
        <button type="button" className="btn" onClick={() => void copy(token.token, 'Token copied')}>
          <Copy size={14} aria-hidden /> Copy
        </button>
        <button type="button" className="btn" onClick={close}>
          Done
        </button>
      </div>
    </div>
  );
}

function NewToken({ close, done }: { close: () => void; done: (token: TokenMade) => void }) {
  const [scopes, setScopes] = useState<Grant[]>(['read', 'write', 'chat']);
  const [lasts, setLasts] = useState('');
  const make = async (field: (name: string) => string) =>
    done(await onyx.admin.makeToken({ name: field('name'), scopes, expiresIn: lasts ? Number(lasts) : undefined }));
  return (
    <Sheet title="New token" close={close}>
      <Form action="Create token" onSubmit={make} onCancel={close}>
        <Field label="Name" name="name" required autoFocus placeholder="What uses it" />
        <fieldset>
          <legend className="meta mb-1">Permissions</legend>
          {GRANTS.map(([grant, words]) => (
            <label key={grant} className="flex min-h-8 items-center gap-2.5 max-md:min-h-11">
              <input
                type="checkbox"
                className="size-4 accent-(--accent)"
                checked={scopes.includes(grant)}
                onChange={(event) =>
                  setScopes(event.target.checked ? [...scopes, grant] : scopes.filter((one) => one !== grant))
                }
              />
              {words}
            </label>
          ))}
        </fieldset>
        <label className="meta block">
          Valid for
          <select className="field mt-1 text-text" value={lasts} onChange={(event) => setLasts(event.target.value)}>
            {LASTS.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </label>
      </Form>
    </Sheet>
  );
}
