import { useState } from 'react';
import type { Fault, StoredFile } from '@onyx/sdk';
import { Markdown } from '../markdown/Markdown';
import { faultOf } from '../store/client';
import { toast } from '../store/state';
import { Editor } from './Editor';
import { ErrorLine } from './page';
import { savesByKey, useUnsaved } from './unsaved';

/** A markdown file, shown or edited. Edits stay until they are saved or discarded. */
export function FileEditor({
  file,
  line,
  lastLine,
  note,
  write,
  onWritten,
}: {
  file: StoredFile;
  line?: number;
  lastLine?: number;
  note?: string;
  /** Saves the text over the version that was read. */
  write: (text: string) => Promise<unknown>;
  onWritten: () => void;
}) {
  const [text, setText] = useState<string>();
  const [fault, setFault] = useState<Fault>();
  const [busy, setBusy] = useState(false);
  const [mode, setMode] = useState<'read' | 'edit'>(line !== undefined || file.text === '' ? 'edit' : 'read');
  const changed = text !== undefined && text !== file.text;
  useUnsaved(changed);
  const save = async () => {
    setBusy(true);
    try {
      await write(text ?? '');
      setFault(undefined);
      setText(undefined);
      toast('Saved');
      onWritten();
    } catch (error) {
      setFault(faultOf(error));
    }
    setBusy(false);
  };
  const shown = text ?? file.text;
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-3" onKeyDown={savesByKey(changed && !busy && (() => void save()))}>
      <div className="flex min-h-8 flex-wrap items-center gap-2">
        <div className="flex overflow-hidden rounded-sm border border-line" role="radiogroup" aria-label="View">
          {(['read', 'edit'] as const).map((one) => (
            <button
              key={one}
              type="button"
              role="radio"
              aria-checked={mode === one}
              className={`h-8 px-3 text-[14px] max-md:h-11 ${mode === one ? 'bg-accent-soft text-accent' : 'text-dim hover:bg-sunken'}`}
              onClick={() => setMode(one)}
            >
              {one === 'read' ? 'Read' : 'Edit'}
            </button>
          ))}
        </div>
        <span className="meta min-w-0 flex-1">{changed ? 'Not saved yet' : note}</span>
        {changed && (
          <button type="button" className="btn" onClick={() => (setText(undefined), setFault(undefined))}>
            Discard
          </button>
        )}
        <button type="button" className="btn btn-primary" disabled={!changed || busy} onClick={() => void save()}>
          Save
        </button>
      </div>
      {fault && (
        <ErrorLine
          fault={
            fault.code === 'version_conflict'
              ? {
                  ...fault,
                  message: 'This file was changed since you opened it. Your version is not saved.',
                  hint: 'Copy your text, then load the new version.',
                }
              : fault
          }
          action={
            fault.code === 'version_conflict'
              ? { label: 'Load the new version', run: () => (setText(undefined), setFault(undefined), onWritten()) }
              : undefined
          }
        />
      )}
      {mode === 'edit' ? (
        <Editor label="Text of the file" text={shown} onChange={setText} line={line} lastLine={lastLine} />
      ) : (
        <div
          className="card min-h-0 flex-1 overflow-y-auto px-5 py-4"
          dir="auto"
          tabIndex={0}
          role="region"
          aria-label="The file"
        >
          {shown.trim() === '' ? <p className="meta">This file is empty.</p> : <Content text={shown} />}
        </div>
      )}
    </div>
  );
}

/** The text's headings are level 3, so a hidden level 2 heading precedes them for screen readers. */
function Content({ text }: { text: string }) {
  return (
    <>
      <h2 className="sr-only">Content</h2>
      <Markdown text={text} />
    </>
  );
}
