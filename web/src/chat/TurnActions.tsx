import { useEffect, useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { BookOpenText, Copy, GitFork, MoreHorizontal, Pencil, Redo2, RefreshCw, Undo2 } from 'lucide-react';
import type { Rating } from '@onyx/sdk';
import { fork, learnUndone, redoRun, say, undoRun } from '../store/actions';
import { answerText, textOf, type Answer, type Words } from '../store/messages';
import { usePreferences } from '../store/preferences';
import { useStore } from '../store/state';
import { copy } from '../ui/copy';
import { Menu } from '../ui/Menu';
import { sendsByKey } from '../ui/keyboard';
import { fullTime, money, timeOf, tokens } from '../ui/time';
import { useSurface } from './density';
import { changes } from './describe';
import { Note, Rated, Thumbs } from './Feedback';
import { Siblings } from './Siblings';

const ROW =
  'mt-0.5 flex min-h-8 md:-mb-4 items-center gap-0.5 text-dim transition-opacity md:opacity-0 md:group-focus-within:opacity-100 md:group-hover:opacity-100';

function useBusy(sessionId: string): boolean {
  return useStore((state) => state.conversations[sessionId]?.live !== undefined);
}

function Time({ at }: { at?: string }) {
  if (!at) return null;
  return (
    <time className="mx-1 text-tiny whitespace-nowrap" dateTime={at} title={fullTime(at)}>
      {timeOf(at)}
    </time>
  );
}

export function WordsActions({ words, sessionId, onEdit }: { words: Words; sessionId: string; onEdit: () => void }) {
  const busy = useBusy(sessionId);
  const { density } = useSurface();
  return (
    <div className={`${ROW} justify-end`}>
      <Time at={words.ts} />
      {density === 'page' && <Siblings sessionId={sessionId} turnId={words.id} />}
      <button
        type="button"
        className="icon-btn"
        aria-label="Copy message"
        title="Copy"
        onClick={() => void copy(textOf(words.content))}
      >
        <Copy size={15} aria-hidden />
      </button>
      {/* Only a message of a chat can be edited: companions and threads cannot be forked. */}
      {density === 'page' && (
        <button
          type="button"
          className="icon-btn"
          aria-label="Edit and resend"
          title="Edit and resend"
          disabled={busy}
          onClick={onEdit}
        >
          <Pencil size={15} aria-hidden />
        </button>
      )}
    </div>
  );
}

/** Editing a message creates a fork; the old message stays in the first session. */
export function Editor({ words, sessionId, close }: { words: Words; sessionId: string; close: () => void }) {
  const [text, setText] = useState(textOf(words.content));
  const navigate = useNavigate();
  const sendWith = usePreferences((preferences) => preferences.sendWith);
  const send = async () => {
    if (text.trim() === '') return;
    const images = typeof words.content === 'string' ? [] : words.content.filter((part) => part.type !== 'text');
    const content = images.length > 0 ? [{ type: 'text' as const, text }, ...images] : text;
    close();
    const id = await say({ content, sessionId, edit: words.id });
    if (id) await navigate({ to: '/chat/$id', params: { id } });
  };
  return (
    <form className="ml-auto w-full max-w-155" onSubmit={(event) => (event.preventDefault(), void send())}>
      <textarea
        autoFocus
        aria-label="Edit your message"
        className="field h-auto min-h-24 py-2"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onFocus={({ target }) => target.setSelectionRange(target.value.length, target.value.length)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') return (event.stopPropagation(), close());
          if (!sendsByKey(event, sendWith)) return;
          event.preventDefault();
          void send();
        }}
      />
      <div className="mt-2 flex justify-end gap-2">
        <button type="button" className="btn" onClick={close}>
          Cancel
        </button>
        <button type="submit" className="btn btn-primary" disabled={text.trim() === ''}>
          Send
        </button>
      </div>
    </form>
  );
}

/** Whether an answer has changes that can be undone, and whether they were undone. Asked only if it wrote something. */
export function useUndone(answer: Answer): { wrote: boolean; undone: boolean } {
  const { runId } = answer;
  const wrote = answer.state !== 'running' && hasWritten(answer);
  const undone = useStore((state) => runId !== undefined && state.undone[runId] === true);
  const online = useStore((state) => state.link === 'online');
  useEffect(() => {
    if (wrote && runId && online) void learnUndone(runId);
  }, [wrote, runId, online]);
  return { wrote, undone };
}

const hasWritten = (answer: Answer) =>
  answer.parts.some(
    (part) =>
      part.kind === 'tools' && part.steps.some(({ report }) => report?.state === 'done' && changes(report.effect)),
  );

export function AnswerActions({ answer, sessionId, isLast }: { answer: Answer; sessionId: string; isLast: boolean }) {
  const navigate = useNavigate();
  const busy = useBusy(sessionId);
  // A chat regenerates an answer in a fork; elsewhere only a failed answer can be retried, in its error line.
  const { density, retrieved } = useSurface();
  const isPage = density === 'page';
  const again = async () => {
    if (!answer.asked) return;
    const failed = answer.state !== 'done' && isLast;
    const id = await say(failed ? { sessionId, retry: answer.asked } : { sessionId, regenerate: answer.asked });
    if (id && id !== sessionId) await navigate({ to: '/chat/$id', params: { id } });
  };
  const forkHere = async () => {
    const session = answer.lastTurn ? await fork(sessionId, answer.lastTurn) : undefined;
    if (session) await navigate({ to: '/chat/$id', params: { id: session.id } });
  };
  const { wrote, undone } = useUndone(answer);
  const { usage, runId } = answer;
  const [noting, setNoting] = useState<Rating>();
  const more = [
    // The turn to fork at is known once the answer is in the log.
    ...(isPage && answer.lastTurn
      ? [{ label: 'Fork from here', icon: <GitFork size={15} aria-hidden />, run: () => void forkHere() }]
      : []),
    ...(wrote && runId && !undone
      ? [{ label: 'Undo file changes', icon: <Undo2 size={15} aria-hidden />, run: () => void undoRun(runId) }]
      : []),
    ...(wrote && runId && undone
      ? [{ label: 'Redo file changes', icon: <Redo2 size={15} aria-hidden />, run: () => void redoRun(runId) }]
      : []),
  ];
  return (
    <>
      {noting ? (
        <Note answer={answer} sessionId={sessionId} rating={noting} close={() => setNoting(undefined)} />
      ) : (
        <Rated answer={answer} onChange={() => setNoting(answer.feedback?.rating ?? undefined)} />
      )}
      <div className={`${ROW} -ml-2 ${isLast ? 'md:opacity-100' : ''}`}>
        <button
          type="button"
          className="icon-btn"
          aria-label="Copy reply"
          title="Copy reply"
          onClick={() => void copy(answerText(answer), 'Reply copied')}
        >
          <Copy size={15} aria-hidden />
        </button>
        {retrieved && answer.asked && (
          <button
            type="button"
            className="icon-btn"
            aria-label="What was retrieved"
            title="What was retrieved"
            onClick={() => answer.asked && retrieved(answer.asked)}
          >
            <BookOpenText size={15} aria-hidden />
          </button>
        )}
        {isPage && (
          <button
            type="button"
            className="icon-btn"
            aria-label="Regenerate"
            title="Regenerate"
            disabled={busy || !answer.asked}
            onClick={() => void again()}
          >
            <RefreshCw size={15} aria-hidden />
          </button>
        )}
        <Thumbs answer={answer} sessionId={sessionId} disabled={busy} onRated={setNoting} />
        {more.length > 0 && (
          <Menu label="More for this reply" className="icon-btn" entries={more}>
            <MoreHorizontal size={15} aria-hidden />
          </Menu>
        )}
        {usage && (usage.input > 0 || usage.output > 0) && (
          <span className="ml-1 text-tiny" title={`${usage.input} tokens in, ${usage.output} out`}>
            {tokens(usage.input + usage.output)} tokens{usage.cost ? ` · ${money(usage.cost)}` : ''}
          </span>
        )}
        <Time at={answer.ts} />
      </div>
    </>
  );
}
