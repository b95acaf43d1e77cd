import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { Clock } from 'lucide-react';
import type { Draft, Preview } from '@onyx/sdk';
import { decide, refreshDraft, takeBack } from '../store/drafts';
import { useStore, type SentVerdict, type Verdict } from '../store/state';
import { titleOf } from '../shell/links';
import { ago, fullTime } from '../ui/time';
import { useSurface } from './density';
import { Diff } from './Diff';
import { nextOpenCard, useDecisionKeys } from './decisionKeys';
import { DraftDocument } from './DraftDocument';

const DECIDED: Record<string, string> = {
  applying: 'Being applied',
  applied: 'Approved and done',
  failed: 'Approved, but it failed',
  unknown: 'Approved, but the result is unknown',
  rejected: 'Rejected',
  superseded: 'Replaced by a newer draft',
  expired: 'Expired',
};

const EFFECTS: Record<string, string> = {
  destroy: 'deletes or overwrites',
  reach: 'leaves this machine',
  execute: 'runs a command',
};

export const isOpen = (draft: Draft) => draft.state === 'pending' || draft.state === 'stale';

/** A change that an agent proposes. Every place that shows it draws the same draft of the store. */
export function DraftCard({ id, inChat = false }: { id: string; inChat?: boolean }) {
  const draft = useStore((state) => state.drafts[id]);
  const [busy, setBusy] = useState(false);
  const [rejecting, setRejecting] = useState(false);
  const online = useStore((state) => state.link === 'online');
  const given = useStore((state) => state.verdicts[id]);
  const { density } = useSurface();
  const card = useRef<HTMLElement>(null);
  const unknown = draft === undefined;
  useEffect(() => {
    if (unknown && online) void refreshDraft(id);
  }, [unknown, online, id]);
  const answer = async (verdict: Verdict) => {
    setBusy(true);
    const held = card.current?.contains(document.activeElement) ?? false;
    await decide(id, verdict);
    setBusy(false);
    setRejecting(false);
    // The pressed button is gone; without this the focus would move to the page.
    if (held) (nextOpenCard(card.current) ?? card.current)?.focus();
  };
  const asks = draft?.asksFor === 'answer';
  // A member's draft is shown here only to the owner, who may approve it.
  const mayApprove = !draft?.needsOwner || draft.person !== undefined;
  const options = asks && draft?.preview.kind === 'choice' ? draft.preview.options : [];
  const choices = options.map((option, index) => [
    `${index + 1}`,
    () => !busy && void answer({ decision: 'approve', reason: option }),
  ]);
  useDecisionKeys(card, {
    a: () => !asks && !busy && mayApprove && void answer({ decision: 'approve' }),
    r: () => !busy && setRejecting(true),
    ...Object.fromEntries(choices),
  });
  if (!draft) return <div className="card meta border-l-3 border-l-line px-4 py-3">This draft no longer exists.</div>;
  const open = isOpen(draft) && !given;
  // In a chat the card is below the speaker's name, elsewhere below the page's title.
  const Title = inChat ? 'h3' : 'h2';
  return (
    <section
      ref={card}
      aria-label={draft.summary}
      data-draft={id}
      data-open={open || undefined}
      tabIndex={open ? 0 : -1}
      className={`card border-l-3 ${open ? 'border-l-warn' : 'border-l-line'}`}
    >
      <header className="flex flex-wrap items-baseline gap-x-2.5 px-3.5 py-2.5">
        <Title className="min-w-0 font-semibold [overflow-wrap:anywhere]">
          {asks && 'text' in draft.preview ? draft.preview.text : draft.summary}
        </Title>
        <About draft={draft} inChat={inChat} />
      </header>
      {!asks && <PreviewOf preview={draft.preview} />}
      <footer
        className={`flex flex-wrap items-center gap-2 rounded-b-md border-t border-line bg-surface px-3.5 py-2.5 text-meta text-dim ${open ? `sticky -bottom-4 ${density === 'page' ? 'md:-bottom-6' : ''}` : ''}`}
      >
        {given && <Given verdict={given} onTakeBack={() => takeBack(id)} />}
        {!open && !given && <Decided draft={draft} />}
        {open && rejecting && (
          <Words
            {...REFUSAL}
            busy={busy}
            onSend={(reason) => void answer({ decision: 'reject', reason })}
            onCancel={() => setRejecting(false)}
          />
        )}
        {open && !rejecting && asks && draft.preview.kind === 'choice' && (
          <Options
            options={draft.preview.options}
            busy={busy}
            onChoose={(reason) => void answer({ decision: 'approve', reason })}
          />
        )}
        {open && !rejecting && asks && (
          <Words
            {...REPLY}
            busy={busy}
            onSend={(reason) => void answer({ decision: 'approve', reason })}
            onCancel={() => void answer({ decision: 'reject' })}
          />
        )}
        {open && !rejecting && !asks && (
          <>
            {!mayApprove ? (
              <span>Only the owner of this home can approve this.</span>
            ) : (
              <button
                type="button"
                className="btn btn-primary"
                disabled={busy}
                onClick={() => void answer({ decision: 'approve' })}
              >
                Approve
              </button>
            )}
            {draft.effect === 'reach' && !draft.needsOwner && (
              <button
                type="button"
                className="btn"
                disabled={busy}
                title="This tool may contact the same host until this run ends"
                onClick={() => void answer({ decision: 'approve', scope: 'run' })}
              >
                Approve for this run
              </button>
            )}
            <button type="button" className="btn" disabled={busy} onClick={() => setRejecting(true)}>
              Reject
            </button>
            <span className="hidden gap-2 md:flex" aria-hidden>
              {mayApprove && <kbd className="kbd">A</kbd>}
              <kbd className="kbd">R</kbd>
            </span>
            {draft.state === 'stale' && (
              <span role="status" className="text-warn">
                The file has changed since. This is the new diff.
              </span>
            )}
            {draft.expiresAt && <span className="ml-auto">expires {ago(draft.expiresAt)}</span>}
          </>
        )}
      </footer>
    </section>
  );
}

function About({ draft, inChat }: { draft: Draft; inChat: boolean }) {
  const session = useStore((state) => (draft.sessionId ? state.sessions[draft.sessionId] : undefined));
  const agent = useStore((state) => state.status?.agents.find((one) => one.id === draft.agent)?.name ?? draft.agent);
  return (
    <span className="meta flex min-w-0 flex-wrap items-baseline gap-x-1.5">
      {agent && <span>{draft.person ? `${agent} of ${draft.person}` : agent}</span>}
      {draft.effect && EFFECTS[draft.effect] && <span className="text-warn">{EFFECTS[draft.effect]}</span>}
      {draft.instruction && <span className="text-warn">changes agent instructions</span>}
      {draft.tainted && <span className="text-warn">after reading outside content</span>}
      {!inChat && session && (
        <Link to="/chat/$id" params={{ id: session.id }} className="max-w-60 truncate underline underline-offset-3">
          {titleOf(session)}
        </Link>
      )}
      {draft.createdAt && <time title={fullTime(draft.createdAt)}>{ago(draft.createdAt)}</time>}
    </span>
  );
}

function Decided({ draft }: { draft: Draft }) {
  const me = useStore((state) => state.me?.person);
  const by = draft.decidedBy && (draft.decidedBy === me ? 'by you' : `already decided by ${draft.decidedBy}`);
  if (draft.asksFor === 'answer' && draft.state === 'applied')
    return <span role="status">{`You answered: ${draft.output ?? draft.reason ?? ''}`}</span>;
  return (
    <span role="status">
      {[DECIDED[draft.state] ?? draft.state, by, draft.reason && `“${draft.reason}”`, draft.output]
        .filter(Boolean)
        .join(' · ')}
    </span>
  );
}

/** Shown for a decision that was made here and has not reached the server yet. */
function Given({ verdict, onTakeBack }: { verdict: SentVerdict; onTakeBack: () => void }) {
  const decided = verdict.decision === 'approve' ? 'Approved' : 'Rejected';
  return (
    <>
      <span role="status" className="inline-flex min-w-0 flex-1 items-center gap-1.5 text-warn">
        <Clock size={13} className="shrink-0" aria-hidden /> {decided}, waiting for the connection
      </span>
      <button type="button" className="btn" onClick={onTakeBack}>
        Undo
      </button>
    </>
  );
}

interface Wording {
  label: string;
  placeholder: string;
  send: string;
  cancel: string;
  tone: string;
  needed: boolean;
}

const REFUSAL: Wording = {
  label: 'Reason',
  placeholder: 'Reason (optional)',
  send: 'Reject',
  cancel: 'Cancel',
  tone: 'btn-danger',
  needed: false,
};
const REPLY: Wording = {
  label: 'Your answer',
  placeholder: 'Your answer',
  send: 'Answer',
  cancel: 'Skip',
  tone: 'btn-primary',
  needed: true,
};

/** The text field for a reason or an answer. */
function Words({
  label,
  placeholder,
  send,
  cancel,
  tone,
  needed,
  busy,
  onSend,
  onCancel,
}: Wording & { busy: boolean; onSend: (words?: string) => void; onCancel: () => void }) {
  const [words, setWords] = useState('');
  const said = words.trim();
  return (
    <form
      className="flex w-full flex-wrap items-center gap-2"
      onSubmit={(event) => (event.preventDefault(), (said || !needed) && onSend(said || undefined))}
    >
      <input
        autoFocus={!needed}
        className="field min-w-40 flex-1 text-text"
        placeholder={placeholder}
        aria-label={label}
        value={words}
        maxLength={needed ? 4000 : 500}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && !needed && (event.stopPropagation(), onCancel())}
      />
      <button type="submit" className={`btn ${tone}`} disabled={busy || (needed && !said)}>
        {send}
      </button>
      <button type="button" className="btn" disabled={busy} onClick={onCancel}>
        {cancel}
      </button>
    </form>
  );
}

/** The answers that a question offers; the person can also write another one. */
function Options(props: { options: string[]; busy: boolean; onChoose: (option: string) => void }) {
  return (
    <div role="group" aria-label="Answers" className="flex w-full flex-wrap gap-2">
      {props.options.map((option, index) => (
        <button
          key={option}
          type="button"
          className="btn max-w-full whitespace-normal text-left [overflow-wrap:anywhere]"
          disabled={props.busy}
          onClick={() => props.onChoose(option)}
        >
          <span>{option}</span>
          <kbd className="kbd hidden md:inline" aria-hidden>
            {index + 1}
          </kbd>
        </button>
      ))}
    </div>
  );
}

function PreviewOf({ preview }: { preview: Preview }) {
  if (preview.kind === 'none') return null;
  if (preview.kind === 'text' || preview.kind === 'choice') {
    return (
      <pre
        className="diff border-t border-line px-3.5 whitespace-pre-wrap [overflow-wrap:anywhere]"
        tabIndex={0}
        aria-label="Preview"
        dir="auto"
      >
        {preview.text}
      </pre>
    );
  }
  const { path, diffLines, document } = preview;
  if (document) return <DraftDocument document={document} path={path} lines={diffLines} />;
  return <Diff lines={diffLines} label={`Change to ${path}`} />;
}
