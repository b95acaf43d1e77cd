import { useMemo } from 'react';
import { Link } from '@tanstack/react-router';
import { Square, X } from 'lucide-react';
import { SurfaceProvider } from '../../chat/density';
import { Turn } from '../../chat/Turn';
import { useMessages } from '../../chat/useMessages';
import { stop } from '../../store/actions';
import { forgetRun, isOver, type ActionRun } from '../../store/registry';
import { ErrorLine } from '../../ui/page';
import { STATES } from './states';

/** The steps of an action's run, while it runs and afterwards. */
export function Timeline({ run, label }: { run: ActionRun; label: string }) {
  const [word, color] = STATES[run.state];
  const { sessionId, runId } = run;
  const over = isOver(run);
  return (
    <section aria-label={`Run of ${label}`} aria-busy={!over} className="border-t border-line bg-sunken/40 px-4 py-3">
      <div className="mb-2 flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1 text-meta">
        {!over && <span className="dot dot-run" aria-hidden />}
        <span className={`${color} flex-1`} role="status">
          {word}
        </span>
        {sessionId && (
          <Link
            to="/chat/$id"
            params={{ id: sessionId }}
            className="inline-flex items-center text-accent underline underline-offset-3 max-md:min-h-11"
          >
            Open chat
          </Link>
        )}
        {over && run.page && (
          <Link
            to="/memory"
            search={{ path: run.page }}
            className="inline-flex items-center text-accent underline underline-offset-3 max-md:min-h-11"
          >
            Open report
          </Link>
        )}
        {over ? (
          <button
            type="button"
            className="icon-btn -mr-2"
            aria-label={`Dismiss the run of ${label}`}
            title="Dismiss"
            onClick={() => forgetRun(run.key)}
          >
            <X size={16} aria-hidden />
          </button>
        ) : (
          <button type="button" className="btn" disabled={!sessionId} onClick={() => sessionId && void stop(sessionId)}>
            <Square size={12} fill="currentColor" aria-hidden /> Stop
          </button>
        )}
      </div>
      {sessionId && runId ? (
        <Steps sessionId={sessionId} runId={runId} />
      ) : (
        run.fault && <ErrorLine fault={run.fault} />
      )}
    </section>
  );
}

const SURFACE = { density: 'ephemeral' } as const;

/** The answer of one run: its tools, its drafts and its text. */
export function Steps({ sessionId, runId }: { sessionId: string; runId: string }) {
  const messages = useMessages(sessionId);
  const own = useMemo(
    () => messages.filter((message) => message.kind === 'answer' && message.runId === runId),
    [messages, runId],
  );
  return (
    <div role="log" aria-label="What it does" aria-live="off" data-density="ephemeral" className="flex flex-col gap-3">
      <SurfaceProvider value={SURFACE}>
        {own.map((message, index) => (
          <Turn key={message.id} message={message} isLast={index === own.length - 1} />
        ))}
      </SurfaceProvider>
    </div>
  );
}
