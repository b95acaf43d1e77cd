import { useEffect, useRef, useState } from 'react';
import { Copy, ExternalLink } from 'lucide-react';
import { safeLink } from '../../markdown/links';
import { copy } from '../../ui/copy';
import { ErrorLine } from '../../ui/page';
import { useLogin, useSecondsUntil, type Login } from './logins';

/** The sentence, its colour, and the label of the action for a state. */
type Said = (login: Login) => [words: string, color: string, action: string];
const nobody: Said = ({ error }) => [error ?? 'Not signed in.', 'text-dim', 'Sign in'];
const SAID: Record<string, Said> = {
  signed_in: ({ account, until }) => [
    `Signed in${account ? ` as ${account}` : ''}${until ? `, until ${new Date(until).toLocaleString()}` : ''}`,
    'text-ok-text',
    'Sign out',
  ],
  failed: ({ error }) => [error ?? 'Signing in failed.', 'text-danger', 'Retry'],
  sign_in_again: ({ account, error }) => [
    `The sign-in${account ? ` of ${account}` : ''} is no longer accepted${error ? ` (${error})` : ''}.`,
    'text-warn',
    'Sign in again',
  ],
};

/** The sign-in to a provider: the code, the page to enter it, and the result. */
export function ProviderLogin({
  name,
  known,
  elsewhere = false,
  onState,
}: {
  name: string;
  known?: Login;
  /** A program has its own sign-in, so there is no button here. */
  elsewhere?: boolean;
  onState: (state: Login['state'], before?: Login['state']) => void;
}) {
  const { data: login, fault, reload, begin, finish, end } = useLogin(name, known);
  const state = login?.state;
  const before = useRef(state);
  useEffect(() => {
    if (state === undefined || state === before.current) return;
    onState(state, before.current);
    before.current = state;
  });
  if (!login) return fault ? <ErrorLine fault={fault} action={{ label: 'Retry', run: reload }} /> : null;
  if (login.state === 'waiting') {
    return <Waiting login={login} onAddress={finish} onCancel={() => void end()} />;
  }
  const [words, color, action] = (SAID[login.state] ?? nobody)(login);
  const signedIn = login.state === 'signed_in';
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
      <p role="status" className={`min-w-0 flex-1 basis-44 text-meta [overflow-wrap:anywhere] ${color}`}>
        {words}
      </p>
      {login.quota && <p className="text-meta text-dim">{aboutQuota(login.quota)}</p>}
      {!elsewhere && (
        <button
          type="button"
          className={signedIn ? 'btn' : 'btn btn-primary'}
          onClick={() => void (signedIn ? end() : begin())}
        >
          {action}
        </button>
      )}
      {!elsewhere && !signedIn && login.ways.length > 1 && (
        <button type="button" className="btn" onClick={() => void begin('browser')}>
          Sign in with the browser
        </button>
      )}
    </div>
  );
}

/** The quota in words, such as `5-hour limit: 82 % used, until 14:00`. */
function aboutQuota({ limit, usedPercent, resetsAt }: NonNullable<Login['quota']>): string {
  const used = typeof usedPercent === 'number' ? `${usedPercent} % used` : 'in use';
  return `${limit}: ${used}${resetsAt ? `, resets ${new Date(resetsAt).toLocaleString()}` : ''}`;
}

/** The provider's page and the code to enter there, if there is one, with the remaining time. */
function Waiting({
  login: { userCode, verificationUri, expiresAt },
  onAddress,
  onCancel,
}: {
  login: Login;
  onAddress: (address: string) => Promise<void>;
  onCancel: () => void;
}) {
  const left = useSecondsUntil(expiresAt);
  const link = safeLink(verificationUri ?? '');
  const code = userCode ?? '';
  return (
    <div className="rounded-md border border-line bg-sunken/40 p-4">
      <p className="meta">
        {code
          ? 'Open the page, enter this code and allow access. This page continues automatically.'
          : 'Open the page and allow access. This page continues automatically.'}
      </p>
      <div className={`my-2 flex items-center gap-1 ${code ? '' : 'hidden'}`}>
        <output
          aria-label="Code"
          className="font-mono text-[26px] leading-9 font-semibold tracking-[0.08em] [overflow-wrap:anywhere] select-all"
        >
          {code}
        </output>
        <button
          type="button"
          className="icon-btn"
          aria-label="Copy the code"
          title="Copy the code"
          onClick={() => void copy(code, 'Code copied')}
        >
          <Copy size={16} aria-hidden />
        </button>
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        {link ? (
          <a
            href={link.href}
            target="_blank"
            rel="noopener noreferrer"
            className="btn btn-primary max-w-full"
            title={link.href}
          >
            <span className="truncate">Open {link.host}</span>{' '}
            <ExternalLink size={14} className="shrink-0" aria-hidden />
          </a>
        ) : (
          <span className="font-mono text-meta [overflow-wrap:anywhere]">{verificationUri}</span>
        )}
        <button type="button" className="btn" onClick={onCancel}>
          Cancel
        </button>
        <span className="ml-auto inline-flex items-center gap-2 text-meta text-dim">
          <span className="dot dot-run" aria-hidden />
          <span role="status">Waiting for you</span>
          {left !== undefined && <span>{left >= 60 ? `${Math.ceil(left / 60)} min left` : `${left} s left`}</span>}
        </span>
      </div>
      {!code && <EndedAt onAddress={onAddress} />}
    </div>
  );
}

/**
 * A field for the address at which a browser on another machine ended, because it cannot return to Onyx automatically.
 */
function EndedAt({ onAddress }: { onAddress: (address: string) => Promise<void> }) {
  const [address, setAddress] = useState('');
  return (
    <form
      className="mt-3 flex flex-wrap items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        void onAddress(address).then(() => setAddress(''));
      }}
    >
      <label className="meta min-w-0 flex-1 basis-52">
        If the browser ends at a page that does not load, paste its address:
        <input
          className="field mt-1 text-text"
          type="url"
          required
          value={address}
          onChange={(event) => setAddress(event.target.value)}
        />
      </label>
      <button type="submit" className="btn">
        Continue
      </button>
    </form>
  );
}
