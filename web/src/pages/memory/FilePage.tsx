import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Trash2 } from 'lucide-react';
import { OnyxError, type StoredFile } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { FileEditor } from '../../ui/FileEditor';
import { Confirm } from '../../ui/Modal';
import { Page, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { FileView, isShown } from '../../panel/FileView';
import { Header } from '../../shell/Header';
import { History } from './History';

interface Opened extends StoredFile {
  path: string;
  /** This file does not exist yet. Saving creates it. */
  fresh?: boolean;
}

async function open(path: string): Promise<Opened> {
  try {
    return { ...(await onyx.memory.read(path)), path };
  } catch (error) {
    if (error instanceof OnyxError && error.code === 'not_found') return { path, text: '', version: '', fresh: true };
    throw error;
  }
}

function isForeign(file: StoredFile): boolean {
  return file.origin === 'external' || file.origin === 'agent_tainted';
}

function Foreign({ onAccept }: { onAccept: () => void }) {
  return (
    <div role="note" className="mb-3 flex flex-wrap items-center gap-3 rounded-md border border-line px-3 py-2 text-sm">
      <p className="min-w-0 flex-1">This text came from outside. Agents read it as evidence and do not follow it.</p>
      <button type="button" className="btn" onClick={onAccept}>
        I have read this
      </button>
    </div>
  );
}

/** The file that an agent means by a path that it wrote. */
export function CitedFile({ cited, ...lines }: { cited: string; line?: number; lastLine?: number }) {
  const file = useLoaded(`cited ${cited}`, () => onyx.memory.read(cited, { cited: true }));
  if (file.data) return <FilePage path={file.data.path ?? cited} {...lines} />;
  return (
    <Page title={cited} back="/memory">
      <Shown of={file} rows={1} height="h-96">
        {() => null}
      </Shown>
    </Page>
  );
}

export function FilePage(props: { path: string; line?: number; lastLine?: number }) {
  const { path } = props;
  if (!isShown(path)) return <TextPage {...props} />;
  return (
    <>
      <Header title={path} back="/memory" />
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto px-4 py-4 md:px-6">
        <div className="mx-auto w-full max-w-[880px]">
          <FileView path={path} />
        </div>
      </div>
    </>
  );
}

function TextPage({ path, line, lastLine }: { path: string; line?: number; lastLine?: number }) {
  const navigate = useNavigate();
  const file = useLoaded(`file ${path}`, () => open(path));
  const [tab, setTab] = useState<'file' | 'history'>('file');
  const [asking, setAsking] = useState(false);
  const remove = async (opened: Opened, yes: boolean) => {
    setAsking(false);
    if (!yes || !(await attempt('Not deleted', () => onyx.memory.remove(opened.path, opened.version).then(() => true))))
      return;
    toast(`${opened.path} was deleted; its versions are kept`);
    await navigate({ to: '/memory' });
  };
  const accept = async (opened: Opened) => {
    if (!(await attempt('Not accepted', () => onyx.memory.accept(opened.path, opened.version).then(() => true))))
      return;
    toast(`${opened.path} now counts as yours`);
    file.reload();
  };
  return (
    <>
      <Header title={file.data?.path ?? path} back="/memory">
        {file.data && !file.data.fresh && (
          <>
            <button
              type="button"
              className="btn"
              aria-pressed={tab === 'history'}
              onClick={() => setTab(tab === 'history' ? 'file' : 'history')}
            >
              {tab === 'history' ? 'File' : 'History'}
            </button>
            <button
              type="button"
              className="icon-btn"
              aria-label="Delete file"
              title="Delete file"
              onClick={() => setAsking(true)}
            >
              <Trash2 size={16} aria-hidden />
            </button>
          </>
        )}
      </Header>
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto px-4 py-4 md:px-6">
        <div className="mx-auto flex min-h-0 w-full max-w-[880px] flex-1 flex-col">
          <Shown of={file} rows={1} height="h-96">
            {(opened) => (
              <>
                {isForeign(opened) && tab === 'file' && <Foreign onAccept={() => void accept(opened)} />}
                {tab === 'history' ? (
                  <History path={opened.path} now={opened.text} onRestored={() => (setTab('file'), file.reload())} />
                ) : (
                  <FileEditor
                    file={opened}
                    line={line}
                    lastLine={lastLine}
                    note={opened.fresh ? 'This file does not exist yet. Saving creates it.' : undefined}
                    write={(text) => onyx.memory.write(opened.path, text, opened.fresh ? undefined : opened.version)}
                    onWritten={file.reload}
                  />
                )}
              </>
            )}
          </Shown>
        </div>
      </div>
      {asking && file.data && (
        <Confirm
          question={`Delete ${file.data.path}?`}
          detail="Its versions are kept and can be restored."
          action="Delete"
          onAnswer={(yes) => file.data && void remove(file.data, yes)}
        />
      )}
    </>
  );
}
