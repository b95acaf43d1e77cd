import { useState } from 'react';
import { onyx } from '../../store/client';
import { attempt } from '../../ui/act';
import { Card, Section } from '../../ui/form';
import { Page, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';

const RIGHTS: Record<string, string> = {
  chat: 'use your agents and their tools',
  read: 'read your files and conversations',
  write: 'change your files and approve what agents propose',
};

/** Another program asks for access. It wrote this page's address, so only data checked by the server is shown. */
export function AuthorizePage() {
  const query = new URLSearchParams(location.search);
  const asked = useLoaded('oauth', () => onyx.oauth.request(query));
  const [busy, setBusy] = useState(false);
  const allow = () =>
    attempt('Access was not granted', async () => {
      setBusy(true);
      try {
        location.assign(await onyx.oauth.authorize(query));
      } finally {
        setBusy(false);
      }
    });
  return (
    <Page title="Allow access">
      <Shown of={asked}>
        {(request) => (
          <Section title={request.name}>
            <Card>
              <div className="p-4">
                <p>
                  A program that calls itself <strong>{request.name}</strong> wants to:
                </p>
                <ul className="my-3 list-disc pl-6">
                  {request.scopes.map((scope) => (
                    <li key={scope}>{RIGHTS[scope] ?? scope}</li>
                  ))}
                </ul>
                <p className="meta">
                  Your browser then opens <code className="break-all">{request.goesTo}</code>. Allow access only if you
                  started this yourself.
                </p>
                <div className="mt-4 flex gap-2">
                  <button type="button" className="btn btn-primary" disabled={busy} onClick={allow}>
                    Allow
                  </button>
                  <a className="btn" href="/chat">
                    Cancel
                  </a>
                </div>
              </div>
            </Card>
          </Section>
        )}
      </Shown>
    </Page>
  );
}
