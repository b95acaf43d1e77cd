import { useState } from 'react';
import { signIn } from '../store/client';

/** A browser on the server's own machine is signed in by the link `onyx` opens; others have a token. */
export function SignIn() {
  const [token, setToken] = useState('');
  return (
    <main className="flex h-full items-center justify-center p-6">
      <form className="w-full max-w-90" onSubmit={(event) => (event.preventDefault(), token.trim() && signIn(token.trim()))}>
        <i className="mb-6 block size-6 rotate-45 rounded-[7px] bg-text" aria-hidden />
        <h1 className="text-title font-semibold">Sign in to Onyx</h1>
        <p className="meta mt-1 mb-5">
          Run <code className="font-mono">onyx</code> on this machine to be signed in by a link, or paste an access token.
        </p>
        <label className="meta" htmlFor="token">
          Access token
        </label>
        <input id="token" type="password" autoComplete="current-password" autoFocus className="field mt-1" value={token} onChange={(event) => setToken(event.target.value)} />
        <button type="submit" className="btn btn-primary mt-4 w-full" disabled={token.trim() === ''}>
          Sign in
        </button>
      </form>
    </main>
  );
}
