import { useState } from 'react';
import type { Draft } from '@onyx/sdk';
import { ago } from '../../ui/time';
import type { Decision } from './useDecision';

/** What a person can do about a draft that waits: answer, approve or reject it, or write why it is rejected. */
export function DraftDecision({ draft, decision }: { draft: Draft; decision: Decision }) {
  if (decision.rejecting) return <Refusal decision={decision} />;
  if (decision.asks) return <Reply draft={draft} decision={decision} />;
  return <Approval draft={draft} decision={decision} />;
}

function Refusal({ decision: { busy, answer, setRejecting } }: { decision: Decision }) {
  return (
    <Words
      {...REFUSAL}
      busy={busy}
      onSend={(reason) => void answer({ decision: 'reject', reason })}
      onCancel={() => setRejecting(false)}
    />
  );
}

function Reply({ draft, decision: { busy, answer } }: { draft: Draft; decision: Decision }) {
  return (
    <>
      {draft.preview.kind === 'choice' && (
        <Options
          options={draft.preview.options}
          busy={busy}
          onChoose={(reason) => void answer({ decision: 'approve', reason })}
        />
      )}
      <Words
        {...REPLY}
        busy={busy}
        onSend={(reason) => void answer({ decision: 'approve', reason })}
        onCancel={() => void answer({ decision: 'reject' })}
      />
    </>
  );
}

function Approval({ draft, decision }: { draft: Draft; decision: Decision }) {
  const { busy, mayApprove, answer, setRejecting } = decision;
  return (
    <>
      {mayApprove ? (
        <button
          type="button"
          className="btn btn-primary"
          disabled={busy}
          onClick={() => void answer({ decision: 'approve' })}
        >
          Approve
        </button>
      ) : (
        <span>Only the owner of this home can approve this.</span>
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
