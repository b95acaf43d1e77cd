import { RotateCw, Square } from 'lucide-react';
import type { CSSProperties } from 'react';
import { ToolRows } from '../../../chat/ToolRows';
import { Markdown } from '../../../markdown/Markdown';
import { partKey } from '../../../store/messages';
import { hueOf } from '../../../ui/hue';
import { ErrorLine } from '../../../ui/page';
import type { Trial } from './trials';

/** One persona's answer to a test input. */
export function Answer({
  persona,
  name,
  trial,
  old,
  onRun,
  onStop,
}: {
  persona: string;
  name: string;
  trial: Trial;
  /** True if the system prompt has changed since the answer. */
  old: boolean;
  onRun: () => void;
  onStop: () => void;
}) {
  const { parts, state, fault } = trial.output;
  const running = state === 'running';
  return (
    <article
      className="turn"
      data-density="ephemeral"
      style={{ '--hue': hueOf(persona) } as CSSProperties}
      aria-label={`${name} answers`}
      aria-busy={running}
    >
      <div className="who">
        <span>{name.toUpperCase()}</span>
        {old && <span className="tracking-normal">before the last change</span>}
        <span className="flex-1" />
        {running ? (
          <button
            type="button"
            className="inline-flex min-h-6 items-center gap-1 tracking-normal hover:text-text max-md:min-h-11"
            onClick={onStop}
          >
            <Square size={10} fill="currentColor" aria-hidden /> Stop
          </button>
        ) : (
          <button
            type="button"
            className="inline-flex min-h-6 items-center gap-1 tracking-normal hover:text-text max-md:min-h-11"
            onClick={onRun}
          >
            <RotateCw size={11} aria-hidden /> Run again
          </button>
        )}
      </div>
      <div
        className="flex max-h-100 flex-col gap-2 overflow-y-auto"
        tabIndex={0}
        role="group"
        aria-label={`What ${name} says`}
      >
        {parts.map((part, index) =>
          part.kind === 'text' ? (
            <Markdown key={partKey(part)} text={part.text} growing={running && index === parts.length - 1} />
          ) : part.kind === 'tools' ? (
            <ToolRows key={partKey(part)} steps={part.steps} live={running} />
          ) : null,
        )}
        {running && parts.at(-1)?.kind !== 'text' && (
          <span className="caret text-meta text-dim">{parts.length === 0 ? 'Thinking' : 'Working'}</span>
        )}
        {state === 'done' && parts.length === 0 && <p className="meta">No answer.</p>}
      </div>
      {state === 'stopped' && <p className="meta">Stopped</p>}
      {fault && <ErrorLine fault={fault} action={{ label: 'Retry', run: onRun }} />}
    </article>
  );
}
