import { useLayoutEffect, useRef } from 'react';
import { toast } from '../../../store/state';
import { ErrorLine } from '../../../ui/page';
import { savesByKey } from '../../../ui/unsaved';
import { Choice } from './Choice';
import { textOf, type Version } from './editedText';
import { useEditedText } from './useEditedText';

/** The system prompt. It follows the editor's changes and never overwrites text that the person is typing. */
export function PromptEditor({
  found,
  readOnly,
  put,
  reload,
}: {
  found: Version;
  readOnly: boolean;
  put: (text: string, replaces: string) => Promise<string>;
  reload: () => void;
}) {
  const { edited, tell, changed, busy, fault, save } = useEditedText(found, put, reload);
  const area = useRef<HTMLTextAreaElement>(null);
  const text = textOf(edited);
  useLayoutEffect(() => {
    if (!area.current) return;
    area.current.style.height = 'auto';
    area.current.style.height = `${area.current.scrollHeight + 2}px`;
  }, [text]);
  const saved = async () => {
    if (await save()) toast('Saved');
  };
  return (
    <section
      aria-label="System prompt"
      className="card flex min-w-0 flex-col gap-3 p-3.5"
      onKeyDown={savesByKey(changed && (() => void saved()))}
    >
      <div className="flex min-h-8 flex-wrap items-center gap-2">
        <h2 className="meta">System prompt</h2>
        <span className="min-w-0 flex-1 text-meta text-dim" role="status">
          {changed ? '· not saved yet' : edited.news ? '· just changed by the editor' : ''}
        </span>
        {changed && !edited.theirs && (
          <>
            <button type="button" className="btn" onClick={() => tell({ type: 'discard' })}>
              Discard
            </button>
            <button type="button" className="btn btn-primary" disabled={busy} onClick={() => void saved()}>
              Save
            </button>
          </>
        )}
      </div>
      <Choice edited={edited} what="The system prompt" tell={tell} />
      {fault && <ErrorLine fault={fault} action={{ label: 'Retry', run: () => void saved() }} />}
      <textarea
        ref={area}
        dir="auto"
        aria-label="Text of the system prompt"
        className="min-h-48 w-full resize-none rounded-sm bg-transparent text-[16px] leading-6 outline-none [unicode-bidi:plaintext] placeholder:text-dim focus-visible:outline-1 focus-visible:outline-offset-4 md:text-body"
        placeholder={
          readOnly
            ? 'No system prompt yet.'
            : 'Who this agent is, how it speaks, what matters, and what to leave alone.'
        }
        readOnly={readOnly}
        value={text}
        onChange={(event) => tell({ type: 'typed', text: event.target.value })}
      />
    </section>
  );
}
