import { useEffect, useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { BookOpenText, Copy, GitFork, MoreHorizontal, Redo2, RefreshCw, Undo2 } from 'lucide-react';
import type { Rating, Usage } from '@onyx/sdk';
import { fork, learnUndone, redoRun, say, undoRun } from '../store/actions';
import { answerText, type Answer } from '../store/messages';
import { useStore } from '../store/state';
import { copy } from '../ui/copy';
import { Menu } from '../ui/Menu';
import { money, tokens } from '../ui/time';
import { useSurface } from './density';
import { changes } from './describe';
import { Note, Rated, Thumbs } from './Feedback';
import { ROW, Time, useBusy } from './turnRow';

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

/** The buttons below an answer, with its rating and what it cost. */
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
  const [noting, setNoting] = useState<Rating>();
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
        <More answer={answer} sessionId={sessionId} />
        {answer.usage && <Spent usage={answer.usage} />}
        <Time at={answer.ts} />
      </div>
    </>
  );
}

/** The menu of an answer: a fork, and undo and redo of what it did to files. */
function More({ answer, sessionId }: { answer: Answer; sessionId: string }) {
  const navigate = useNavigate();
  const { density } = useSurface();
  const { wrote, undone } = useUndone(answer);
  const { runId } = answer;
  const forkHere = async () => {
    const session = answer.lastTurn ? await fork(sessionId, answer.lastTurn) : undefined;
    if (session) await navigate({ to: '/chat/$id', params: { id: session.id } });
  };
  const entries = [
    // The turn to fork at is known once the answer is in the log.
    ...(density === 'page' && answer.lastTurn
      ? [{ label: 'Fork from here', icon: <GitFork size={15} aria-hidden />, run: () => void forkHere() }]
      : []),
    ...(wrote && runId && !undone
      ? [{ label: 'Undo file changes', icon: <Undo2 size={15} aria-hidden />, run: () => void undoRun(runId) }]
      : []),
    ...(wrote && runId && undone
      ? [{ label: 'Redo file changes', icon: <Redo2 size={15} aria-hidden />, run: () => void redoRun(runId) }]
      : []),
  ];
  if (entries.length === 0) return null;
  return (
    <Menu label="More for this reply" className="icon-btn" entries={entries}>
      <MoreHorizontal size={15} aria-hidden />
    </Menu>
  );
}

/** The tokens of the run, and their price if it is known. */
function Spent({ usage }: { usage: Usage }) {
  if (usage.input === 0 && usage.output === 0) return null;
  return (
    <span className="ml-1 text-tiny" title={`${usage.input} tokens in, ${usage.output} out`}>
      {tokens(usage.input + usage.output)} tokens{usage.cost ? ` · ${money(usage.cost)}` : ''}
    </span>
  );
}
