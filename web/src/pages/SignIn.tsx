import { useState, type FormEvent } from 'react';
import type { Fault } from '@onyx/sdk';
import { faultOf, logIn, signIn } from '../store/client';
import { useStore } from '../store/state';

/** A browser on the server's machine signs in by the link that `onyx` opens; others use a password or token. */
export function SignIn() {
  const [way, setWay] = useState<'password' | 'token'>('password');
  const [fault, setFault] = useState<Fault>();
  const again = useStore((state) => state.refusal?.code === 'sign_in_again');
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const field = (name: string) => String(fields.get(name) ?? '').trim();
    if (way === 'token') return signIn(field('token'));
    try {
      await logIn(field('person'), field('password'));
    } catch (error) {
      setFault(faultOf(error));
    }
  };
  return (
    <main className="flex h-full items-center justify-center p-6">
      <form className="w-full max-w-90" onSubmit={(event) => void submit(event)}>
        <i className="mb-6 block size-6 rotate-45 rounded-[7px] bg-text" aria-hidden />
        <h1 className="text-title font-semibold">Sign in to Onyx</h1>
        <p className="meta mt-1 mb-5">
          On the machine that Onyx runs on, <code className="font-mono">onyx</code> opens a link that signs you in.
        </p>
        {again && (
          <p role="status" className="mb-5 text-meta">
            Sign in again: sessions are now protected from other programs on this machine.
          </p>
        )}
        {way === 'password' ? (
          <>
            <Field name="person" label="Name" type="text" autoComplete="username" />
            <Field name="password" label="Password" type="password" autoComplete="current-password" />
          </>
        ) : (
          <Field name="token" label="Access token" type="password" autoComplete="off" />
        )}
        {fault && (
          <p role="alert" className="mt-3 text-meta text-danger">
            {fault.message} {fault.hint}
          </p>
        )}
        <button type="submit" className="btn btn-primary mt-4 w-full">
          Sign in
        </button>
        <button
          type="button"
          className="meta mt-3 w-full underline underline-offset-3"
          onClick={() => setWay(way === 'token' ? 'password' : 'token')}
        >
          {way === 'token' ? 'Use a password' : 'Use an access token'}
        </button>
      </form>
    </main>
  );
}

function Field({ label, ...input }: { label: string; name: string; type: string; autoComplete: string }) {
  return (
    <label className="meta mt-3 block">
      {label}
      <input required className="field mt-1 text-text" {...input} />
    </label>
  );
}
