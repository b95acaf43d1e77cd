import { useEffect, useState } from 'react';
import { Link } from '@tanstack/react-router';
import type { CallReport } from '@onyx/sdk';
import { useMessages } from '../../chat/useMessages';
import { describe, stateOf } from '../../chat/describe';
import { Diff } from '../../chat/Diff';
import { Markdown } from '../../markdown/Markdown';
import type { ToolStep } from '../../store/messages';
import { isOver, leaveAsking, runAction, runOf, useRegistry, type ActionRun, type Asking } from '../../store/registry';
import { onyx } from '../../store/client';
import { Modal } from '../../ui/Modal';
import { ErrorLine } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';

/** The dialog of an action before it runs: its prompt, its input, and a preview of what it would do. */
export function ActionDialog({ asking }: { asking: Asking }) {
  const { action, place, preview } = asking;
  const [selection, setSelection] = useState(place.selection ?? '');
  const [wanted, setWanted] = useState(false);
  const dry = useRegistry((registry) => (wanted ? runOf(registry, action.id, 'dry') : undefined));
  const asks = action.asksForSelection;
  const said = selection.trim() || undefined;
  const lacks = asks && said === undefined;
  const shown = useSettled(said ?? (asks ? '…' : ''));
  const prompt = useLoaded(`prompt ${action.id} ${shown}`, () => onyx.actions.prompt(action.id, shown || undefined));
  const rehearse = () => {
    setWanted(true);
    void runAction(action, place, { dryRun: true, selection: said });
  };
  useEffect(() => {
    if (preview && !lacks) rehearse();
  }, []);
  const run = () => {
    leaveAsking();
    void runAction(action, place, { confirm: true, selection: said });
  };
  const trying = dry !== undefined && !isOver(dry);
  return (
    <Modal label={action.label} onClose={leaveAsking} className="max-w-150">
      <form className="flex max-h-[80vh] flex-col" onSubmit={(event) => (event.preventDefault(), run())}>
        <div className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-5">
          <div>
            <h2 className="font-semibold [overflow-wrap:anywhere]">
              {action.requiresConfirmation && !preview ? `Run ${action.label}?` : action.label}
            </h2>
            <p className="meta">
              {action.requiresConfirmation
                ? 'This action may change things, so it asks you first. Your agent receives this prompt:'
                : 'Your agent receives this prompt:'}
            </p>
          </div>
          {asks && (
            <label className="meta">
              Input
              <textarea
                autoFocus
                dir="auto"
                className="field mt-1 h-auto min-h-20 py-2 text-text"
                value={selection}
                placeholder="Selected text"
                onChange={(event) => setSelection(event.target.value)}
              />
            </label>
          )}
          {prompt.fault ? (
            <ErrorLine fault={prompt.fault} action={{ label: 'Retry', run: prompt.reload }} />
          ) : (
            <pre className="output max-h-52 min-h-10 rounded-sm border" tabIndex={0} aria-label="Prompt" dir="auto">
              {prompt.data}
            </pre>
          )}
          {action.warnings?.map((warning) => (
            <p key={warning} className="text-meta text-warn [overflow-wrap:anywhere]">
              {warning}
            </p>
          ))}
          {dry && <Rehearsed run={dry} />}
        </div>
        <div className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">
          <Link to="/actions" className="btn mr-auto max-sm:hidden" onClick={leaveAsking}>
            All actions
          </Link>
          <button type="button" className="btn" onClick={leaveAsking}>
            Cancel
          </button>
          <button type="button" className="btn" disabled={trying || lacks} onClick={rehearse}>
            {dry ? 'Preview again' : 'Preview'}
          </button>
          <button
            type="submit"
            className="btn btn-primary"
            data-first-focus={asks ? undefined : true}
            disabled={lacks || Boolean(action.error)}
          >
            Run
          </button>
        </div>
      </form>
    </Modal>
  );
}

const TYPING_MS = 250;

/** The value once it has not changed for a moment. */
function useSettled(words: string): string {
  const [settled, setSettled] = useState(words);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(words), TYPING_MS);
    return () => clearTimeout(timer);
  }, [words]);
  return settled;
}

/** The result of a dry run. Nothing was changed. */
function Rehearsed({ run }: { run: ActionRun }) {
  const live = useMessages(run.sessionId);
  const messages = run.log ?? live;
  const parts = messages.flatMap((message) =>
    message.kind === 'answer' && message.runId === run.runId ? message.parts : [],
  );
  const over = isOver(run);
  return (
    <section aria-label="Preview" aria-busy={!over} className="flex flex-col gap-2">
      <h3 className="meta">
        {over ? 'This is what the action would do. Nothing was changed.' : 'Trying it without changing anything…'}
        {!over && <span className="caret" aria-hidden />}
      </h3>
      {parts.map((part, index) =>
        part.kind === 'text' ? (
          <Markdown key={index} text={part.text} />
        ) : part.kind === 'tools' ? (
          <ol key={index} className="steps" aria-label="Steps">
            {part.steps.map((step) => (
              <li key={step.toolUseId}>
                <Tried step={step} />
              </li>
            ))}
          </ol>
        ) : null,
      )}
      {over && parts.length === 0 && !run.fault && <p className="meta">The action would do nothing.</p>}
      {run.fault && <ErrorLine fault={run.fault} />}
    </section>
  );
}

type Rehearsal = NonNullable<CallReport['rehearsal']>;

const VERDICTS: Record<Rehearsal['verdict'], string> = {
  allow: 'would be done',
  draft: 'would wait for you as a draft',
  confirm: 'would ask you',
  deny: 'would be refused',
};

/** One step of a dry run: what it would do, and what the gate would decide. */
function Tried({ step }: { step: ToolStep }) {
  const { verb, what } = describe(step, stateOf(step));
  const tried = step.report?.rehearsal;
  const preview = tried?.preview;
  return (
    <>
      <div className="step flex-wrap">
        {tried ? <b className="whitespace-normal!">{tried.summary}</b> : <b>{verb}</b>}
        {!tried && <span className="what">{what}</span>}
        <span className={`tail ${step.ok === false ? 'text-danger' : ''}`}>{tried && VERDICTS[tried.verdict]}</span>
      </div>
      {preview?.kind === 'diff' && <Diff lines={preview.diffLines} label={tried?.summary ?? what} />}
      {preview?.kind === 'text' && (
        <pre className="output max-h-52" tabIndex={0} aria-label={tried?.summary}>
          {preview.text}
        </pre>
      )}
      {!tried && step.ok === false && (
        <pre className="output max-h-52" tabIndex={0} aria-label="Output">
          {step.output}
        </pre>
      )}
    </>
  );
}
