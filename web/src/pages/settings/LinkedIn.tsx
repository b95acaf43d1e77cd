import { useEffect, useRef } from 'react';
import { ExternalLink } from 'lucide-react';
import type { LinkedInAccount } from '@onyx/sdk';
import { safeLink } from '../../markdown/links';
import { onyx } from '../../store/client';
import { toast, useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { Card, Line, Section } from '../../ui/form';
import { Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { useLookedAt } from '../../ui/useLookedAt';

const BACK = '#linkedin?';

/** The person's LinkedIn account. Their agents may post with it, each time after approval. */
export function LinkedIn() {
  const account = useLoaded('linkedin', () => onyx.linkedin.account());
  const { reload } = account;
  const isWaiting = account.data?.login.state === 'waiting';
  useReturn(reload);
  useLookedAt(isWaiting, reload);
  const act = async (failed: string, call: () => Promise<unknown>) => {
    await attempt(failed, call);
    reload();
  };
  return (
    <Section title="LinkedIn" detail="Agents can post and comment as you. They ask you each time, with the whole text.">
      <Shown of={account} rows={1}>
        {(it) => (
          <Card>
            <Line label="Account" detail={<State of={it} />}>
              <Buttons
                of={it}
                onConnect={() => void act('Not connected', () => onyx.linkedin.connect())}
                onCheck={() => void act('Not tested', () => onyx.linkedin.check())}
                onEnd={() => void act('Not disconnected', disconnect)}
              />
            </Line>
          </Card>
        )}
      </Shown>
    </Section>
  );
}

async function disconnect() {
  const { detail } = await onyx.linkedin.revoke();
  toast(detail ?? 'Disconnected from LinkedIn');
}

/** Finishes the sign-in when LinkedIn sends the browser back here, as the person who started it. */
function useReturn(reload: () => void) {
  const taken = useRef(false);
  useEffect(() => {
    if (taken.current || !location.hash.startsWith(BACK)) return;
    taken.current = true;
    const brought = new URLSearchParams(location.hash.slice(BACK.length));
    // The code works only once, so it is removed from the history.
    history.replaceState(history.state, '', location.pathname + location.search);
    const value = (name: string) => brought.get(name) ?? undefined;
    const back = { state: value('state') ?? '', code: value('code'), error: value('error') };
    void attempt('LinkedIn is not connected', () => onyx.linkedin.finish(back)).then(reload);
  }, [reload]);
}

/** The state of the account in one sentence, with details. */
function State({
  of: { configured, trouble, login, lastValidatedAt, lastError, redirectUri },
}: {
  of: LinkedInAccount;
}) {
  const owner = useStore((state) => state.me?.role !== 'member');
  if (!configured) {
    return owner ? (
      <>
        Not set up. Create an application at developer.linkedin.com with the redirect address{' '}
        <code className="[overflow-wrap:anywhere]">{redirectUri}</code>, then enter it as <code>tools.linkedin</code> in
        the configuration.
      </>
    ) : (
      <>Not set up. The owner of this Onyx can do that.</>
    );
  }
  const [words, color] = said(trouble, login);
  return (
    <>
      <span role="status" className={`[overflow-wrap:anywhere] ${color}`}>
        {words}
      </span>
      {lastValidatedAt && !lastError && (
        <span className="block">LinkedIn accepted the sign-in at {new Date(lastValidatedAt).toLocaleString()}.</span>
      )}
      {lastError && login.state === 'signed_in' && <span className="block text-warn">{lastError}</span>}
    </>
  );
}

function said(trouble: string | null, { state, account, until, error }: LinkedInAccount['login']): [string, string] {
  if (trouble) return [trouble, 'text-warn'];
  if (state === 'signed_in') {
    const ends = until ? `, until ${new Date(until).toLocaleDateString()}` : '';
    return [`Connected${account ? ` as ${account}` : ''}${ends}.`, 'text-ok-text'];
  }
  if (state === 'waiting') return ['Open LinkedIn and allow access. This page continues automatically.', 'text-dim'];
  if (state === 'sign_in_again') return [error ?? 'LinkedIn no longer accepts the sign-in.', 'text-warn'];
  return error ? [`Not connected: ${error}.`, 'text-danger'] : ['Not connected.', 'text-dim'];
}

function Buttons({
  of: { configured, trouble, login },
  onConnect,
  onCheck,
  onEnd,
}: {
  of: LinkedInAccount;
  onConnect: () => void;
  onCheck: () => void;
  onEnd: () => void;
}) {
  if (!configured || trouble) return null;
  if (login.state === 'signed_in') {
    return (
      <>
        <button type="button" className="btn" aria-label="Test LinkedIn" onClick={onCheck}>
          Test
        </button>
        <button type="button" className="btn" aria-label="Disconnect LinkedIn" onClick={onEnd}>
          Disconnect
        </button>
      </>
    );
  }
  const link = safeLink(login.verificationUri ?? '');
  if (login.state === 'waiting' && link) {
    return (
      <>
        {/* Opens in the same tab, because LinkedIn returns to this page. */}
        <a href={link.href} rel="noreferrer" className="btn btn-primary" title={link.href}>
          Open LinkedIn <ExternalLink size={14} className="shrink-0" aria-hidden />
        </a>
        <button type="button" className="btn" aria-label="Cancel connecting" onClick={onEnd}>
          Cancel
        </button>
      </>
    );
  }
  return (
    <button type="button" className="btn btn-primary" onClick={onConnect}>
      {login.state === 'none' ? 'Connect LinkedIn' : 'Reconnect'}
    </button>
  );
}
