import { useEffect, useRef } from 'react';
import { Copy, ExternalLink } from 'lucide-react';
import { safeLink } from '../../markdown/links';
import { copy } from '../../ui/copy';
import { ErrorLine } from '../../ui/page';
import { useLogin, useSecondsUntil, type Login } from './logins';

/** What is said of it, in which colour, and the one thing to do about it. */
type Said = (login: Login) => [words: string, color: string, action: string];
const nobody: Said = ({ error }) => [error ?? 'Not signed in.', 'text-dim', 'Sign in'];
const SAID: Record<string, Said> = {
  signed_in: ({ account }) => [account ? `Signed in as ${account}` : 'Signed in', 'text-ok-text', 'Sign out'],
  failed: ({ error }) => [error ?? 'Signing in failed.', 'text-danger', 'Try again'],
  sign_in_again: ({ account, error }) => [
    error ?? `The sign-in${account ? ` of ${account}` : ''} has lapsed.`,
    'text-warn',
    'Sign in again',
  ],
};

/** Signing in to a provider: the code, where it belongs, and what came of it. */
export function ProviderLogin({
  name,
  known,
  elsewhere = false,
  onState,
}: {
  name: string;
  known?: Login;
  /** A program signs in by itself, so there is nothing to press here. */
  elsewhere?: boolean;
  onState: (state: Login['state'], before?: Login['state']) => void;
}) {
  const { data: login, fault, reload, begin, end } = useLogin(name, known);
  const state = login?.state;
  const before = useRef(state);
  useEffect(() => {
    if (state === undefined || state === before.current) return;
    onState(state, before.current);
    before.current = state;
  });
  if (!login) return fault ? <ErrorLine fault={fault} action={{ label: 'Try again', run: reload }} /> : null;
  if (login.state === 'waiting') return <Waiting login={login} onCancel={() => void end()} />;
  const [words, color, action] = (SAID[login.state] ?? nobody)(login);
  const signedIn = login.state === 'signed_in';
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
      <p role="status" className={`min-w-0 flex-1 basis-44 text-meta [overflow-wrap:anywhere] ${color}`}>
        {words}
      </p>
      {!elsewhere && (
        <button
          type="button"
          className={signedIn ? 'btn' : 'btn btn-primary'}
          onClick={() => void (signedIn ? end() : begin())}
        >
          {action}
        </button>
      )}
    </div>
  );
}

/** The code to be entered on the maker's page. Nothing here hurries anybody. */
function Waiting({
  login: { userCode, verificationUri, expiresAt },
  onCancel,
}: {
  login: Login;
  onCancel: () => void;
}) {
  const left = useSecondsUntil(expiresAt);
  const link = safeLink(verificationUri ?? '');
  const code = userCode ?? '';
  return (
    <div className="rounded-md border border-line bg-sunken/40 p-4">
      <p className="meta">Open the page, enter this code and allow access. This page continues by itself.</p>
      <div className="my-2 flex items-center gap-1">
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
    </div>
  );
}
