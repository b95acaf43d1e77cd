import { useEffect, useMemo, useState } from 'react';
import { Link } from '@tanstack/react-router';
import { useMessages } from '../../chat/useMessages';
import { describe } from '../../chat/describe';
import { Diff } from '../../chat/DraftCard';
import { Markdown } from '../../markdown/Markdown';
import type { ToolStep } from '../../store/messages';
import { isOver, leaveAsking, runAction, runOf, useRegistry, type ActionRun, type Asking } from '../../store/registry';
import { useStore } from '../../store/state';
import { asksForSelection, filled, rehearsed, valuesAt } from '../../store/templates';
import { Modal } from '../../ui/Modal';
import { ErrorLine } from '../../ui/page';

/** An action before it runs: what it is told, what it needs to know, and what it would do. */
export function ActionDialog({ asking }: { asking: Asking }) {
  const { action, place, prompt, preview } = asking;
  const person = useStore((state) => state.me?.person ?? '');
  const [selection, setSelection] = useState(place.selection ?? '');
  const [wanted, setWanted] = useState(false);
  const dry = useRegistry((registry) => (wanted ? runOf(registry, action.id, 'dry') : undefined));
  const asks = prompt !== undefined && asksForSelection(prompt);
  const said = selection.trim() || undefined;
  const lacks = asks && said === undefined;
  const text = useMemo(
    () => prompt && filled(prompt, valuesAt(new Date(), person, selection.trim() || (asks ? '…' : ''))),
    [prompt, person, selection, asks],
  );
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
                ? 'It may change things, so it asks you first. This is what your agent will be told:'
                : 'This is what your agent will be told:'}
            </p>
          </div>
          {asks && (
            <label className="meta">
              What it is about
              <textarea
                autoFocus
                dir="auto"
                className="field mt-1 h-auto min-h-20 py-2 text-text"
                value={selection}
                placeholder="Text, or a few words"
                onChange={(event) => setSelection(event.target.value)}
              />
            </label>
          )}
          {text ? (
            <pre className="output max-h-52 rounded-sm border" tabIndex={0} aria-label="Prompt" dir="auto">
              {text}
            </pre>
          ) : (
            <p className="meta">This file could not be loaded.</p>
          )}
          {action.warnings?.map((warning) => (
            <p key={warning} className="text-meta text-warn [overflow-wrap:anywhere]">
              {warning}
            </p>
          ))}
          {dry && <Rehearsal run={dry} />}
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

/** What it would do. Nothing of it was done. */
function Rehearsal({ run }: { run: ActionRun }) {
  const live = useMessages(run.sessionId);
  const messages = run.log ?? live;
  const parts = messages.flatMap((message) =>
    message.kind === 'answer' && message.runId === run.runId ? message.parts : [],
  );
  const over = isOver(run);
  return (
    <section aria-label="Preview" aria-busy={!over} className="flex flex-col gap-2">
      <h3 className="meta">
        {over ? 'This is what it would do. Nothing was changed.' : 'Trying it without changing anything'}
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
      {over && parts.length === 0 && !run.fault && <p className="meta">It would do nothing.</p>}
      {run.fault && <ErrorLine fault={run.fault} />}
    </section>
  );
}

const VERDICTS: Record<string, string> = {
  allow: 'would be done',
  draft: 'would wait for you as a draft',
  confirm: 'would ask you',
  deny: 'would be refused',
};

/** One step of a rehearsal: what it would do, and what would become of it. */
function Tried({ step }: { step: ToolStep }) {
  const { verb, what } = describe(step);
  const tried = rehearsed(step.output ?? '');
  return (
    <>
      <div className="step flex-wrap">
        {tried ? <b className="whitespace-normal!">{tried.what}</b> : <b>{verb}</b>}
        {!tried && <span className="what">{what}</span>}
        <span className={`tail ${step.ok === false ? 'text-danger' : ''}`}>
          {step.ok === false ? 'failed' : tried && (VERDICTS[tried.verdict] ?? tried.verdict)}
        </span>
      </div>
      {tried?.preview.includes('\n@@') && <Diff unified={tried.preview} label={tried.what} />}
      {tried?.preview && !tried.preview.includes('\n@@') && (
        <pre className="output max-h-52" tabIndex={0} aria-label={tried.what}>
          {tried.preview}
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
