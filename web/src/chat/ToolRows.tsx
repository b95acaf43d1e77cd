import { memo, useState } from 'react';
import { ChevronRight } from 'lucide-react';
import type { ToolStep } from '../store/messages';
import { counted, duration } from '../ui/time';
import { Diff } from './Diff';
import { useStore } from '../store/state';
import { changedLines, changes, describe, stateOf, type StepState } from './describe';

/** How many steps are shown before they fold into one line. */
const FEW = 3;

/** The steps of an agent: a short list, or one line that expands to all steps. */
export const ToolRows = memo(function ToolRows({
  steps: all,
  live,
  undone = false,
}: {
  steps: ToolStep[];
  live: boolean;
  /** The changes of these steps were undone. */
  undone?: boolean;
}) {
  const [open, setOpen] = useState(false);
  const steps = all.filter((step) => !hasCard(step));
  const folded = !live && steps.length > FEW;
  const shown = folded && !open ? [] : live && !open ? steps.slice(-FEW) : steps;
  const hidden = steps.length - shown.length;
  const failed = steps.filter((step) => step.ok === false).length;
  if (steps.length === 0) return null;
  return (
    <div className="steps">
      {(folded || (live && steps.length > FEW)) && (
        <button type="button" className="step" aria-expanded={open} onClick={() => setOpen(!open)}>
          <ChevronRight
            size={13}
            className={`shrink-0 self-center transition-transform ${open ? 'rotate-90' : ''}`}
            aria-hidden
          />
          <b>
            {live
              ? hidden > 0
                ? counted(hidden, 'earlier step')
                : counted(steps.length, 'step')
              : `Used ${steps.length} tools`}
          </b>
          {!live && (
            <span className="what">
              {steps
                .map((step) => step.label.verb.did)
                .filter(unique)
                .join(', ')}
            </span>
          )}
          <span className="tail">
            {failed > 0 && <span className="text-danger">{failed} failed · </span>}
            {duration(steps.reduce((sum, step) => sum + (step.durationMs ?? 0), 0))}
          </span>
        </button>
      )}
      {shown.length > 0 && (
        <ol aria-label="Steps">
          {shown.map((step) => (
            <li key={step.toolUseId}>
              <Row step={step} undone={undone} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
});

/** A question to the person is shown only as its card. */
const hasCard = ({ label, report, draftId }: ToolStep) =>
  label.target?.kind === 'person' && (draftId !== undefined || report === undefined);

const unique = (value: string, index: number, all: string[]) => all.indexOf(value) === index;

const TONES: Partial<Record<StepState, string>> = {
  wants: 'text-warn!',
  refused: 'text-warn!',
  failed: 'text-danger!',
};

function Row({ step, undone }: { step: ToolStep; undone: boolean }) {
  const [open, setOpen] = useState(false);
  const draft = useStore(({ drafts }) =>
    step.draftId
      ? drafts[step.draftId]
      : step.report
        ? undefined
        : Object.values(drafts).find((one) => one.toolUseId === step.toolUseId),
  );
  const state = stateOf(step, draft);
  const isUndone = undone && state === 'did' && step.report !== undefined && changes(step.report.effect);
  const { verb, what } = isUndone ? { verb: 'Undone', what: step.label.subject } : describe(step, state);
  const changed = state === 'refused' || state === 'failed' ? undefined : changedLines(step);
  return (
    <>
      <button type="button" className="step" aria-expanded={open} onClick={() => setOpen(!open)}>
        <b className={TONES[state]}>{verb}</b>
        <span className={`what ${isUndone ? 'line-through' : ''}`} title={what}>
          {what}
        </span>
        {changed && (
          <span className="shrink-0">
            <span className="text-ok-text">+{changed.added}</span>{' '}
            <span className="text-danger">−{changed.removed}</span>
          </span>
        )}
        <span className="tail">
          {state === 'doing' && <span className="dot dot-run inline-block" aria-label="running" role="img" />}
          {state === 'did' && step.durationMs !== undefined && duration(step.durationMs)}
        </span>
      </button>
      {open && <Details step={step} />}
    </>
  );
}

function Details({ step }: { step: ToolStep }) {
  const { change, subject } = step.label;
  if (change && step.ok !== false) return <Diff lines={change.diffLines} label={`Change to ${subject}`} />;
  return (
    <div>
      <pre className="output" tabIndex={0} aria-label="Arguments">
        {step.tool} {JSON.stringify(step.input, null, 2)}
      </pre>
      {step.output !== undefined && (
        <pre className={`output ${step.ok === false ? 'text-danger' : ''}`} tabIndex={0} aria-label="Output">
          {step.output || '(nothing)'}
        </pre>
      )}
    </div>
  );
}
