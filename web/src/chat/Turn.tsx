import { memo, useState, type CSSProperties, type ReactNode } from 'react';
import { Link } from '@tanstack/react-router';
import { Brain, Square } from 'lucide-react';
import { Citations } from '../markdown/citations';
import { Markdown } from '../markdown/Markdown';
import { redoRun, say, stopAgent } from '../store/actions';
import { partKey, type Answer, type Message, type Part } from '../store/messages';
import { useStore } from '../store/state';
import { hueOf } from '../ui/hue';
import { isOfProvider, mayPass } from '../ui/faults';
import { Menu } from '../ui/Menu';
import { ErrorLine, FAULT_ACTION } from '../ui/page';
import { fullTime } from '../ui/time';
import { useSurface } from './density';
import { CancelRetry, PausedWords, usePaused } from './Paused';
import { AnswerActions, useUndone } from './AnswerActions';
import { DraftCard } from './drafts/DraftCard';
import { shortModel, useModels } from './models';
import { ToolRows } from './ToolRows';
import { WordsTurn } from './WordsTurn';

/** One message of a conversation. */
export const Turn = memo(function Turn({
  message,
  sessionId,
  isLast,
}: {
  message: Message;
  sessionId?: string;
  isLast: boolean;
}) {
  switch (message.kind) {
    case 'words':
      return <WordsTurn words={message} sessionId={sessionId} />;
    case 'answer':
      return <AnswerTurn answer={message} sessionId={sessionId} isLast={isLast} />;
    case 'divider':
      return (
        <details className="meta border-y border-line py-2 text-center">
          <summary className="cursor-pointer">{message.text}</summary>
          {message.detail && (
            <div className="pt-2 text-left text-text">
              <Markdown text={message.detail} />
            </div>
          )}
        </details>
      );
  }
});

/** Built-in agents, which are in no list. */
const BUILT_IN: Record<string, string> = { 'persona-editor': 'Editor' };

function AnswerTurn({ answer, sessionId, isLast }: { answer: Answer; sessionId?: string; isLast: boolean }) {
  const name = useStore(
    (state) =>
      state.status?.agents.find((agent) => agent.id === answer.agent)?.name ?? BUILT_IN[answer.agent] ?? answer.agent,
  );
  const running = answer.state === 'running';
  const passing = useSurface().density === 'ephemeral';
  const { undone } = useUndone(answer);
  const style = { '--hue': hueOf(answer.agent) } as CSSProperties;
  const last = answer.parts.length - 1;
  return (
    <article className="group" aria-label={name} aria-busy={running}>
      <div className="turn" style={style}>
        <div className="who">
          <h2 title={answer.ts && fullTime(answer.ts)}>{name.toUpperCase()}</h2>
          {answer.model && <span className="min-w-0 truncate tracking-normal">{shortModel(answer.model)}</span>}
        </div>
        <Citations value={answer.context}>
          <div className="flex flex-col gap-2.5">
            {answer.parts.map((part, index) => (
              <PartView key={partKey(part)} part={part} live={running && index === last} undone={undone} />
            ))}
            {running && <Working answer={answer} />}
            {running && sessionId && <StopOne answer={answer} sessionId={sessionId} name={name} />}
          </div>
        </Citations>
        {undone && <Undone runId={answer.runId} />}
        <Ending answer={answer} sessionId={sessionId} isLast={isLast} />
      </div>
      {!running && sessionId && !passing && <AnswerActions answer={answer} sessionId={sessionId} isLast={isLast} />}
    </article>
  );
}

function Working({ answer }: { answer: Answer }) {
  const last = answer.parts.at(-1);
  if (last?.kind === 'text') return null;
  return <span className="caret text-meta text-dim">{last === undefined ? 'Thinking' : 'Working'}</span>;
}

/** Where several agents answer, each can be stopped separately. */
function StopOne({ answer, sessionId, name }: { answer: Answer; sessionId: string; name: string }) {
  const several = useStore((state) => (state.conversations[sessionId]?.live?.agents?.length ?? 0) > 1);
  const { runId, agent } = answer;
  if (!several || runId === undefined) return null;
  return (
    <button
      type="button"
      className="inline-flex items-center gap-1.5 self-start text-meta text-dim underline underline-offset-3 max-md:min-h-11"
      onClick={() => void stopAgent(runId, agent)}
    >
      <Square size={12} aria-hidden /> Stop {name}
    </button>
  );
}

function Undone({ runId }: { runId?: string }) {
  return (
    <p role="status" className="mt-2 flex flex-wrap items-center gap-x-2 text-meta text-dim">
      The file changes of this reply were undone.
      {runId && (
        <button type="button" className={FAULT_ACTION} onClick={() => void redoRun(runId)}>
          Redo
        </button>
      )}
    </p>
  );
}

function PartView({ part, live, undone }: { part: Part; live: boolean; undone: boolean }): ReactNode {
  switch (part.kind) {
    case 'text':
      return <Markdown text={part.text} growing={live} />;
    case 'reasoning':
      return <Reasoning text={part.text} live={live} />;
    case 'tools':
      return <ToolRows steps={part.steps} live={live} undone={undone} />;
    case 'draft':
      return <DraftCard id={part.draftId} inChat />;
    case 'note':
      return (
        <p className={`text-meta ${part.code === 'tainted' || part.code === 'degraded' ? 'text-warn' : 'text-dim'}`}>
          {part.text}
        </p>
      );
  }
}

function Reasoning({ text, live }: { text: string; live: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="text-meta text-dim">
      <button
        type="button"
        className="inline-flex items-center gap-1.5"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Brain size={14} aria-hidden /> {live ? 'Thinking…' : 'Thought about it'}
      </button>
      {open && <p className="mt-1 border-l border-line pl-3 whitespace-pre-wrap">{text}</p>}
    </div>
  );
}

const ENDINGS: Partial<Record<Answer['state'], string>> = {
  cancelled: 'You stopped this answer.',
  interrupted: 'The server stopped during this answer. What was finished is kept.',
  awaiting_client: 'Waiting for the client app.',
};

interface Retry {
  run: () => void;
  withModel?: (model: string) => void;
  /** The time at which a pause ends. */
  byItself?: () => void;
}

/** The actions for a failed answer: retry, or retry with another model. */
function useRetry(answer: Answer, sessionId: string | undefined, isLast: boolean): Retry | undefined {
  const { again, latest, density } = useSurface();
  const { asked } = answer;
  if (!asked) return undefined;
  if (again && (isLast || asked === latest)) return { run: () => again(asked, answer.agent) };
  if (density !== 'page' || !isLast || sessionId === undefined) return undefined;
  const run = (model?: string, key?: string) => void say({ sessionId, retry: asked, model, key });
  // Every open tab counts down; the shared key makes their retries one retry.
  const byItself = () => run(undefined, `retry-${answer.lastTurn ?? asked}`);
  return { run: () => run(), withModel: run, byItself };
}

function Ending({ answer, sessionId, isLast }: { answer: Answer; sessionId?: string; isLast: boolean }) {
  const owner = useStore((state) => state.me?.role !== 'member');
  const retry = useRetry(answer, sessionId, isLast);
  const others = useModels().filter((model) => model !== answer.model);
  const paused = usePaused(answer, sessionId, retry?.byItself);
  const { error } = answer;
  if (error && answer.state !== 'cancelled') {
    const withModel = mayPass(error) ? retry?.withModel : undefined;
    return (
      <ErrorLine
        fault={error}
        sentence={paused && <PausedWords model={answer.model} left={paused.left} />}
        action={retry && { label: paused ? 'Retry now' : 'Retry', run: retry.run }}
      >
        {paused && <CancelRetry onClick={paused.cancel} />}
        {withModel && others.length > 0 && (
          <Menu
            label="Retry with another model"
            className={FAULT_ACTION}
            entries={others.map((model) => ({ label: shortModel(model), detail: model, run: () => withModel(model) }))}
          >
            <span>Retry with…</span>
          </Menu>
        )}
        {owner && isOfProvider(error) && (
          <Link to="/settings/$section" params={{ section: 'providers' }} className={FAULT_ACTION}>
            Provider settings
          </Link>
        )}
      </ErrorLine>
    );
  }
  const text = ENDINGS[answer.state];
  if (!text) return null;
  return (
    <p className="mt-2 text-meta text-dim">
      {text}
      {retry && answer.state !== 'awaiting_client' && (
        <button type="button" className={`ml-2 ${FAULT_ACTION}`} onClick={retry.run}>
          Retry
        </button>
      )}
    </p>
  );
}
