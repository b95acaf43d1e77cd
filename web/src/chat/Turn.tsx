import { memo, useState, type CSSProperties, type ReactNode } from 'react';
import { Link } from '@tanstack/react-router';
import { Brain, Clock, RotateCw, X } from 'lucide-react';
import type { UserContent } from '@onyx/sdk';
import { Citations } from '../markdown/citations';
import { Markdown } from '../markdown/Markdown';
import { sayAgain } from '../store/actions';
import { partKey, textOf, type Answer, type Message, type Part, type Words } from '../store/messages';
import { dropPending } from '../store/outbox';
import { useStore } from '../store/state';
import { hueOf } from '../ui/hue';
import { ErrorLine } from '../ui/page';
import { fullTime } from '../ui/time';
import { useSurface } from './density';
import { AnswerActions, WordsActions } from './TurnActions';
import { DraftCard } from './DraftCard';
import { ToolRows } from './ToolRows';

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

function WordsTurn({ words, sessionId }: { words: Words; sessionId?: string }) {
  const { density, takeBack } = useSurface();
  const { promised } = words;
  // What comes and goes by itself is not worked with.
  const passing = density === 'ephemeral';
  return (
    <article className="group" aria-label="You">
      <div className={`words ${words.state === 'sending' || words.state === 'waiting' ? 'opacity-70' : ''}`}>
        <div className="who justify-end">
          {words.state === 'queued' && <span>waits for the {density === 'page' ? 'step' : 'answer'} under way</span>}
          {promised && takeBack && (
            <button
              type="button"
              className="text-accent underline underline-offset-3 max-md:min-h-11"
              onClick={() => takeBack(promised)}
            >
              Undo
            </button>
          )}
          {words.state === 'waiting' && (
            <span className="inline-flex items-center gap-1 text-warn">
              <Clock size={12} aria-hidden /> waiting for the connection
            </span>
          )}
          <h2 title={words.ts && fullTime(words.ts)}>YOU</h2>
        </div>
        <Content content={words.content} />
      </div>
      {words.state === 'failed' && <Failed words={words} />}
      {words.state === 'unanswered' && <Unanswered words={words} />}
      {words.state === 'stored' && sessionId && !passing && <WordsActions words={words} sessionId={sessionId} />}
    </article>
  );
}

function Content({ content }: { content: UserContent }) {
  const images = typeof content === 'string' ? [] : content.filter((part) => part.type === 'image');
  return (
    <>
      {images.length > 0 && (
        <div className="mb-2 flex flex-wrap gap-2">
          {images.map((image, index) => (
            <img
              key={index}
              src={`data:${image.mediaType};base64,${image.data}`}
              alt={`Attachment ${index + 1}`}
              className="max-h-60 rounded-sm"
            />
          ))}
        </div>
      )}
      <p dir="auto" className="whitespace-pre-wrap [overflow-wrap:anywhere]">
        {textOf(content)}
      </p>
    </>
  );
}

function Failed({ words }: { words: Words }) {
  return (
    <div role="alert" className="mt-1 flex flex-wrap items-center justify-end gap-2 text-meta text-danger">
      <span>
        Not sent: {words.fault?.message} {words.fault?.hint}
      </span>
      <button type="button" className="btn" onClick={() => sayAgain(words.id)}>
        <RotateCw size={14} aria-hidden /> Send again
      </button>
      <button type="button" className="icon-btn" aria-label="Discard" onClick={() => dropPending(words.id)}>
        <X size={16} aria-hidden />
      </button>
    </div>
  );
}

/** The server keeps the words and no run has taken them: nobody asked, or it was refused. */
function Unanswered({ words: { turnId, fault } }: { words: Words }) {
  const { again, density } = useSurface();
  const run = () => turnId && again?.(turnId);
  if (fault) return <ErrorLine fault={fault} action={again && { label: 'Try again', run }} />;
  if (density === 'thread')
    return (
      <p className="mt-1 text-right text-meta text-dim">Not answered yet. It will be sent with your next message.</p>
    );
  return (
    <p className="mt-1 flex flex-wrap items-center justify-end gap-2 text-meta text-dim">
      Not answered yet
      {again && (
        <button type="button" className="text-accent underline underline-offset-3" onClick={run}>
          Ask now
        </button>
      )}
    </p>
  );
}

/** Agents of Onyx's own, which no list has. */
const BUILT_IN: Record<string, string> = { 'persona-editor': 'Editor' };

function AnswerTurn({ answer, sessionId, isLast }: { answer: Answer; sessionId?: string; isLast: boolean }) {
  const name = useStore(
    (state) =>
      state.status?.agents.find((agent) => agent.id === answer.agent)?.name ?? BUILT_IN[answer.agent] ?? answer.agent,
  );
  const running = answer.state === 'running';
  const passing = useSurface().density === 'ephemeral';
  const style = { '--hue': hueOf(answer.agent) } as CSSProperties;
  const last = answer.parts.length - 1;
  return (
    <article className="group" aria-label={name} aria-busy={running}>
      <div className="turn" style={style}>
        <div className="who">
          <h2 title={answer.ts && fullTime(answer.ts)}>{name.toUpperCase()}</h2>
          {answer.model && (
            <span className="tracking-normal">{answer.model.split('/').slice(1).join('/') || answer.model}</span>
          )}
        </div>
        <Citations value={answer.context}>
          <div className="flex flex-col gap-2.5">
            {answer.parts.map((part, index) => (
              <PartView key={partKey(part)} part={part} live={running && index === last} />
            ))}
            {running && <Working answer={answer} />}
          </div>
        </Citations>
        <Ending answer={answer} isLast={isLast} />
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

function PartView({ part, live }: { part: Part; live: boolean }): ReactNode {
  switch (part.kind) {
    case 'text':
      return <Markdown text={part.text} growing={live} />;
    case 'reasoning':
      return <Reasoning text={part.text} live={live} />;
    case 'tools':
      return <ToolRows steps={part.steps} live={live} />;
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
  cancelled: 'Stopped',
  interrupted: 'The server stopped during this answer. What was finished is kept.',
  awaiting_client: 'Waiting for the client’s tool',
};

/** What is mended where providers are set up. */
const OF_PROVIDERS = new Set<string>([
  'provider_auth',
  'provider_rate_limited',
  'provider_overloaded',
  'provider_unavailable',
  'provider_timeout',
  'model_not_found',
]);

function Ending({ answer, isLast }: { answer: Answer; isLast: boolean }) {
  const { again, latest } = useSurface();
  const owner = useStore((state) => state.me?.role !== 'member');
  const { asked } = answer;
  const retry =
    again && asked && (isLast || asked === latest)
      ? { label: 'Try again', run: () => again(asked, answer.agent) }
      : undefined;
  const text = ENDINGS[answer.state];
  if (answer.error && answer.state !== 'cancelled')
    return (
      <ErrorLine fault={answer.error} action={retry}>
        {owner && OF_PROVIDERS.has(answer.error.code) && (
          <Link
            to="/settings/$section"
            params={{ section: 'providers' }}
            className="text-accent underline underline-offset-3"
          >
            Provider settings
          </Link>
        )}
      </ErrorLine>
    );
  if (!text) return null;
  return (
    <p className="mt-2 text-meta text-dim">
      {text}
      {retry && (
        <button type="button" className="ml-2 text-accent underline underline-offset-3" onClick={retry.run}>
          {retry.label}
        </button>
      )}
    </p>
  );
}
