import { useState } from 'react';
import type { Preview } from '@onyx/sdk';
import { decide } from '../store/actions';
import { useStore } from '../store/state';
import { ago } from '../ui/time';

const DECIDED: Record<string, string> = {
  applying: 'Being applied',
  applied: 'Approved and done',
  failed: 'Approved, but it failed',
  stale: 'What it changes has changed since',
  unknown: 'Approved; what came of it is not known',
  rejected: 'Rejected',
  superseded: 'Replaced by a newer draft',
  expired: 'Expired',
};

/** A change an agent proposes. Drawn from the one draft in the store wherever it is shown. */
export function DraftCard({ id }: { id: string }) {
  const draft = useStore((state) => state.drafts[id]);
  const [busy, setBusy] = useState(false);
  if (!draft) return <div className="card border-l-3 border-l-warn px-4 py-3 meta">A draft waits in the Inbox.</div>;
  const open = draft.state === 'pending' || draft.state === 'stale';
  const answer = async (decision: 'approve' | 'reject') => {
    setBusy(true);
    await decide(id, decision);
    setBusy(false);
  };
  return (
    <section
      aria-label={draft.summary}
      tabIndex={open ? 0 : undefined}
      className={`card overflow-hidden border-l-3 ${open ? 'border-l-warn' : 'border-l-line'}`}
      onKeyDown={(event) => {
        if (!open || busy || event.target !== event.currentTarget) return;
        if (event.key === 'a') void answer('approve');
        if (event.key === 'r') void answer('reject');
      }}
    >
      <header className="flex flex-wrap items-baseline gap-x-2.5 px-3.5 py-2.5">
        <h3 className="font-semibold">{draft.summary}</h3>
        <span className="meta">{[draft.agent, draft.createdAt && ago(draft.createdAt)].filter(Boolean).join(' · ')}</span>
      </header>
      <PreviewOf preview={draft.preview} />
      <footer className="flex items-center gap-2 border-t border-line px-3.5 py-2.5 text-meta text-dim">
        {open ? (
          <>
            <button type="button" className="btn btn-primary" disabled={busy} onClick={() => void answer('approve')}>
              Approve
            </button>
            <button type="button" className="btn" disabled={busy} onClick={() => void answer('reject')}>
              Reject
            </button>
            <span className="hidden gap-2 md:flex" aria-hidden>
              <kbd className="kbd">A</kbd>
              <kbd className="kbd">R</kbd>
            </span>
            {draft.state === 'stale' && <span className="text-warn">{DECIDED['stale']}</span>}
            {draft.expiresAt && <span className="ml-auto">expires {ago(draft.expiresAt)}</span>}
          </>
        ) : (
          <span>
            {DECIDED[draft.state] ?? draft.state}
            {draft.decidedBy && ` · already decided by ${draft.decidedBy}`}
            {draft.reason && ` · ${draft.reason}`}
          </span>
        )}
      </footer>
    </section>
  );
}

function PreviewOf({ preview }: { preview: Preview }) {
  if (preview.kind === 'none') return null;
  if (preview.kind === 'text') {
    return (
      <pre className="diff border-t border-line px-3.5 whitespace-pre-wrap" tabIndex={0} aria-label="Preview">
        {preview.text}
      </pre>
    );
  }
  return <Diff unified={preview.unified} label={`Change to ${preview.path}`} />;
}

const KINDS: [RegExp, string][] = [
  [/^(\+\+\+|---) /, 'hidden'],
  [/^@@/, 'hunk'],
  [/^\+/, 'add'],
  [/^-/, 'del'],
];

export function Diff({ unified, label }: { unified: string; label: string }) {
  return (
    <div className="diff border-t border-line" tabIndex={0} role="group" aria-label={label}>
      {unified
        .replace(/\n$/, '')
        .split('\n')
        .map((line, index) => (
          <div key={index} className={KINDS.find(([start]) => start.test(line))?.[1]}>
            {line || ' '}
          </div>
        ))}
    </div>
  );
}
