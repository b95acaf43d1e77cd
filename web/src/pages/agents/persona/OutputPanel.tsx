import { useState, type RefObject } from 'react';
import { Eraser, Pin, X } from 'lucide-react';
import type { Fault } from '@onyx/sdk';
import { Conversation } from '../../../chat/Conversation';
import { attempt } from '../../../ui/act';
import { ErrorLine } from '../../../ui/page';
import { clearEditorChat } from './editor';
import type { Happened, Panel } from './panel';

/** The editor's output over the page. It closes automatically unless the person uses it or a decision is pending. */
export function OutputPanel({
  element,
  panel,
  persona,
  sessionId,
  fault,
  tell,
}: {
  element: RefObject<HTMLElement | null>;
  panel: Panel;
  persona: string;
  sessionId?: string;
  fault?: Fault;
  tell: (happened: Happened) => void;
}) {
  const [clearing, setClearing] = useState(false);
  const clear = async () => {
    setClearing(true);
    const cleared = await attempt('Not cleared', () => clearEditorChat(persona).then(() => true));
    setClearing(false);
    if (cleared) tell({ type: 'clear' });
  };
  return (
    <section
      ref={element}
      aria-label="The editor’s output"
      data-phase={panel.phase}
      className="rise absolute inset-x-3 bottom-full z-20 mx-auto mb-2 flex max-h-[min(460px,55vh)] max-w-[760px] flex-col overflow-hidden rounded-lg border border-line bg-surface shadow-over md:inset-x-6"
      onClick={() => tell({ type: 'click' })}
    >
      {sessionId && <Conversation key={sessionId} sessionId={sessionId} density="ephemeral" />}
      {fault && (
        <div className="px-4 pb-2">
          <ErrorLine fault={fault} />
        </div>
      )}
      <footer
        className="flex shrink-0 items-center gap-1 border-t border-line py-1 pr-2 pl-4 text-meta text-dim"
        onClick={(event) => event.stopPropagation()}
      >
        <span className="min-w-0 flex-1 truncate" role="status">
          {saying(panel)}
        </span>
        {panel.phase === 'visible' && (
          <button
            type="button"
            className="icon-btn"
            aria-label="Pin"
            title="Pin (P)"
            onClick={() => tell({ type: 'click' })}
          >
            <Pin size={15} aria-hidden />
          </button>
        )}
        <button
          type="button"
          className="icon-btn"
          aria-label="Clear conversation"
          title="Clear conversation"
          disabled={clearing}
          onClick={() => void clear()}
        >
          <Eraser size={15} aria-hidden />
        </button>
        <button
          type="button"
          className="icon-btn"
          aria-label="Dismiss"
          title="Dismiss (Esc)"
          onClick={() => tell({ type: 'dismiss' })}
        >
          <X size={16} aria-hidden />
        </button>
      </footer>
    </section>
  );
}

function saying({ phase, writing, attention, goesAt }: Panel): string {
  if (phase === 'pinned') return 'pinned';
  if (writing) return 'working';
  if (attention) return 'waiting for you';
  return goesAt === undefined ? 'stays while you are here' : 'closes automatically';
}
