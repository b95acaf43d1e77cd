import { memo, useState } from 'react';
import { ChevronRight } from 'lucide-react';
import type { ToolStep } from '../store/messages';
import { duration } from '../ui/time';
import { Diff } from './DraftCard';
import { changeOf, counts, describe } from './describe';

/** How many steps are shown before they fold into one line. */
const FEW = 3;

/** The steps an agent took: a short ledger, or one line that opens to the whole timeline. */
export const ToolRows = memo(function ToolRows({ steps, live }: { steps: ToolStep[]; live: boolean }) {
  const [open, setOpen] = useState(false);
  const folded = !live && steps.length > FEW;
  const shown = folded && !open ? [] : live && !open ? steps.slice(-FEW) : steps;
  const hidden = steps.length - shown.length;
  const failed = steps.filter((step) => step.ok === false).length;
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
              ? `${hidden > 0 ? `${hidden} earlier steps` : `${steps.length} steps`}`
              : `Used ${steps.length} tools`}
          </b>
          {!live && (
            <span className="what">
              {steps
                .map((step) => describe(step).verb)
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
              <Row step={step} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
});

const unique = (value: string, index: number, all: string[]) => all.indexOf(value) === index;

function Row({ step }: { step: ToolStep }) {
  const [open, setOpen] = useState(false);
  const { verb, what } = describe(step);
  const changed = counts(step);
  const running = step.ok === undefined;
  return (
    <>
      <button type="button" className="step" aria-expanded={open} onClick={() => setOpen(!open)}>
        <b>{verb}</b>
        <span className="what" title={what}>
          {what}
        </span>
        {changed && (
          <span className="shrink-0">
            <span className="text-ok-text">{changed.added}</span> <span className="text-danger">{changed.removed}</span>
          </span>
        )}
        <span className="tail">
          {running && <span className="dot dot-run inline-block" aria-label="running" role="img" />}
          {step.ok === false && <span className="text-danger">failed</span>}
          {step.ok && step.durationMs !== undefined && duration(step.durationMs)}
        </span>
      </button>
      {open && <Details step={step} />}
    </>
  );
}

function Details({ step }: { step: ToolStep }) {
  const change = changeOf(step);
  if (change && step.ok !== false) return <Diff unified={change} label={`Change to ${describe(step).what}`} />;
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
