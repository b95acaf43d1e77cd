// A message of the person: its text, its attachments, and its delivery state.

import { lazy, Suspense, useState } from 'react';
import { Link } from '@tanstack/react-router';
import { Clock, FileText, RotateCw, X } from 'lucide-react';
import type { UserContent } from '@onyx/sdk';
import { discardQueued, say, sayAgain } from '../store/actions';
import { textOf, type Words } from '../store/messages';
import { dropPending } from '../store/outbox';
import { kindOfFile } from '../store/pictures';
import { ErrorLine } from '../ui/page';
import { fullTime } from '../ui/time';
import type { FilePart } from './attachments';
import { useSurface } from './density';
import { Editor, WordsActions } from './WordsActions';

const FilePanel = lazy(() => import('../panel/FilePanel'));

export function WordsTurn({ words, sessionId }: { words: Words; sessionId?: string }) {
  const { density, takeBack } = useSurface();
  const [editing, setEditing] = useState(false);
  const { promised } = words;
  // An ephemeral panel offers no actions on messages.
  const passing = density === 'ephemeral';
  if (editing && sessionId) return <Editor words={words} sessionId={sessionId} close={() => setEditing(false)} />;
  return (
    <article className="group" aria-label="You">
      <div className={`words ${words.state === 'sending' || words.state === 'waiting' ? 'opacity-70' : ''}`}>
        <div className="who justify-end">
          {words.state === 'queued' && (
            <span className="tracking-normal">
              {density === 'page' ? 'Will be read after the current step' : 'Waits for the current answer'}
            </span>
          )}
          {words.state === 'unread' && <span className="tracking-normal text-warn">Not read yet</span>}
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
            <span className="inline-flex items-center gap-1 tracking-normal text-warn">
              <Clock size={12} aria-hidden /> Waiting for the connection
            </span>
          )}
          <h2 title={words.ts && fullTime(words.ts)}>YOU</h2>
        </div>
        <Content content={words.content} />
      </div>
      {words.state === 'failed' && <Failed words={words} />}
      {words.state === 'unanswered' && <Unanswered words={words} />}
      {words.state === 'unread' && sessionId && <Unread words={words} sessionId={sessionId} />}
      {words.state === 'stored' && sessionId && !passing && (
        <WordsActions words={words} sessionId={sessionId} onEdit={() => setEditing(true)} />
      )}
    </article>
  );
}

/** Longer messages than this are folded; the person knows what they wrote. */
const MOST_LINES = 12;
const MOST_CHARACTERS = 1_200;

function Content({ content }: { content: UserContent }) {
  const text = textOf(content);
  const files = typeof content === 'string' ? [] : content.filter((part) => part.type === 'file');
  const images = typeof content === 'string' ? [] : content.filter((part) => part.type === 'image');
  const isLong = text.length > MOST_CHARACTERS || text.split('\n').length > MOST_LINES;
  const [open, setOpen] = useState(false);
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
      {text !== '' && (
        <p
          dir="auto"
          className={`whitespace-pre-wrap [overflow-wrap:anywhere] ${isLong && !open ? 'line-clamp-6' : ''}`}
        >
          {text}
        </p>
      )}
      {isLong && (
        <button
          type="button"
          className="mt-1 text-meta text-accent underline underline-offset-3 max-md:min-h-11"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {open ? 'Show less' : 'Show all'}
        </button>
      )}
      {files.length > 0 && (
        <ul className="mt-1.5 flex flex-wrap justify-end gap-1.5" aria-label="Attached files">
          {files.map((file) => (
            <li key={file.key}>
              <Attached file={file} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** A text file opens in the editor, a picture or PDF beside the conversation. */
function Attached({ file: { name, key: path } }: { file: FilePart }) {
  const [open, setOpen] = useState(false);
  const inside = (
    <>
      <FileText size={14} className="shrink-0" aria-hidden />
      <span className="truncate">{name}</span>
    </>
  );
  if (kindOfFile(path) === undefined)
    return (
      <Link to="/memory" search={{ path }} className="chip bg-surface" title={path}>
        {inside}
      </Link>
    );
  return (
    <>
      <button type="button" className="chip bg-surface" title={path} onClick={() => setOpen(true)}>
        {inside}
      </button>
      {open && (
        <Suspense fallback={null}>
          <FilePanel path={path} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

/** A message to a run that ended before it read the message, mostly because it was stopped. */
function Unread({ words, sessionId }: { words: Words; sessionId: string }) {
  return (
    <div className="mt-1 flex flex-wrap items-center justify-end gap-2 text-meta text-dim">
      <span>The answer was stopped before it was read.</span>
      <button type="button" className="btn" onClick={() => void say({ sessionId, queued: words.id })}>
        Send now
      </button>
      <button type="button" className="btn" onClick={() => void discardQueued(sessionId, words.id)}>
        Discard
      </button>
    </div>
  );
}

function Failed({ words }: { words: Words }) {
  return (
    <div role="alert" className="mt-1 flex flex-wrap items-center justify-end gap-2 text-meta text-danger">
      <span>
        Not sent. {words.fault?.message} {words.fault?.hint}
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

/** The server has the message and no run has read it: no answer was requested, or the request was refused. */
function Unanswered({ words: { turnId, fault } }: { words: Words }) {
  const { again, density } = useSurface();
  const run = () => turnId && again?.(turnId);
  if (fault) return <ErrorLine fault={fault} action={again && { label: 'Retry', run }} />;
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
