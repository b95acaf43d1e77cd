import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { Copy, Pencil } from 'lucide-react';
import { say } from '../store/actions';
import { textOf, type Words } from '../store/messages';
import { usePreferences } from '../store/preferences';
import { copy } from '../ui/copy';
import { sendsByKey } from '../ui/keyboard';
import { useSurface } from './density';
import { Siblings } from './Siblings';
import { ROW, Time, useBusy } from './turnRow';

/** The buttons below a message of the person. */
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
