import { useState } from 'react';
import type { Fault, StoredFile } from '@onyx/sdk';
import { Markdown } from '../markdown/Markdown';
import { faultOf } from '../store/client';
import { toast } from '../store/state';
import { Editor } from './Editor';
import { ErrorLine } from './page';
import { savesByKey, useUnsaved } from './unsaved';

type Mode = 'read' | 'edit';

interface FileEditorProps {
  file: StoredFile;
  line?: number;
  lastLine?: number;
  note?: string;
  /** Saves the text over the version that was read. */
  write: (text: string) => Promise<unknown>;
  onWritten: () => void;
}

/** A markdown file, shown or edited. Edits stay until they are saved or discarded. */
export function FileEditor({ file, line, lastLine, note, write, onWritten }: FileEditorProps) {
  const [text, setText] = useState<string>();
  const [fault, setFault] = useState<Fault>();
  const [busy, setBusy] = useState(false);
  const [mode, setMode] = useState<Mode>(line !== undefined || file.text === '' ? 'edit' : 'read');
  const changed = text !== undefined && text !== file.text;
  useUnsaved(changed);
  const forget = () => {
    setText(undefined);
    setFault(undefined);
  };
  const save = async () => {
    setBusy(true);
    try {
      await write(text ?? '');
      forget();
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
        <ModeChoice mode={mode} onMode={setMode} />
        <span className="meta min-w-0 flex-1">{changed ? 'Not saved yet' : note}</span>
        {changed && (
          <button type="button" className="btn" onClick={forget}>
            Discard
          </button>
        )}
        <button type="button" className="btn btn-primary" disabled={!changed || busy} onClick={() => void save()}>
          Save
        </button>
      </div>
      {fault && <SaveFault fault={fault} onLoad={() => (forget(), onWritten())} />}
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

function ModeChoice({ mode, onMode }: { mode: Mode; onMode: (mode: Mode) => void }) {
  return (
    <div className="flex overflow-hidden rounded-sm border border-line" role="radiogroup" aria-label="View">
      {(['read', 'edit'] as const).map((one) => (
        <button
          key={one}
          type="button"
          role="radio"
          aria-checked={mode === one}
          className={`h-8 px-3 text-[14px] max-md:h-11 ${mode === one ? 'bg-accent-soft text-accent' : 'text-dim hover:bg-sunken'}`}
          onClick={() => onMode(one)}
        >
          {one === 'read' ? 'Read' : 'Edit'}
        </button>
      ))}
    </div>
  );
}

/** Why the text was not saved. After a conflict the new version can be loaded in its place. */
function SaveFault({ fault, onLoad }: { fault: Fault; onLoad: () => void }) {
  if (fault.code !== 'version_conflict') return <ErrorLine fault={fault} />;
  const message = 'This file was changed since you opened it. Your version is not saved.';
  const hint = 'Copy your text, then load the new version.';
  return <ErrorLine fault={{ ...fault, message, hint }} action={{ label: 'Load the new version', run: onLoad }} />;
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
