import { useState } from 'react';
import { authorOf } from '@onyx/sdk';
import { Diff } from '../../chat/Diff';
import { onyx } from '../../store/client';
import { toast, useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { lineDiff } from '../../ui/diff';
import { Modal } from '../../ui/Modal';
import { Empty, Shown } from '../../ui/page';
import { ago, fullTime } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import { goes, type Version } from './versions';

/** Earlier versions of a page, newest first; each can be compared with the current one and restored. */
export function Versions({
  path,
  now,
  onRestored,
  onClose,
}: {
  path: string;
  now: string;
  onRestored: () => void;
  onClose: () => void;
}) {
  const versions = useLoaded(`history ${path}`, () => onyx.memory.history(path));
  const [chosen, setChosen] = useState<number>();
  const restore = async ({ number }: Version) => {
    if (!(await attempt('Not restored', () => onyx.memory.restore(path, number).then(() => true)))) return;
    toast('Restored. The version before it is kept.');
    onRestored();
    onClose();
  };
  return (
    <Modal label="Version history" onClose={onClose} className="flex max-h-[76vh] flex-col">
      <h2 className="border-b border-line px-5 py-3.5 font-semibold">Version history</h2>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <Shown of={versions} rows={3}>
          {(list) => {
            // A new page has no earlier versions.
            const earlier = goes(list).filter(({ created }) => !created);
            if (earlier.length === 0) return <Empty>No earlier versions yet.</Empty>;
            return (
              <ul className="divide-y divide-line" aria-label="Versions">
                {earlier.map((version) => (
                  <li key={version.number}>
                    <Row
                      version={version}
                      open={chosen === version.number}
                      onCompare={() => setChosen(chosen === version.number ? undefined : version.number)}
                      onRestore={() => void restore(version)}
                    />
                    {chosen === version.number && <Compared path={path} number={version.number} now={now} />}
                  </li>
                ))}
              </ul>
            );
          }}
        </Shown>
      </div>
      <div className="flex justify-end border-t border-line px-5 py-3">
        <button type="button" className="btn" data-first-focus onClick={onClose}>
          Close
        </button>
      </div>
    </Modal>
  );
}

function Row({
  version,
  open,
  onCompare,
  onRestore,
}: {
  version: Version;
  open: boolean;
  onCompare: () => void;
  onRestore: () => void;
}) {
  const author = authorOf(version.author);
  const name = useStore((state) => state.status?.agents.find(({ id }) => id === author.id)?.name);
  const isMe = useStore((state) => state.me?.person === author.id);
  const when = ago(version.from);
  return (
    <div className="flex flex-wrap items-center gap-2 px-5 py-2.5">
      <span className="min-w-40 flex-1" title={fullTime(version.from)}>
        Before {when}
        <span className="meta ml-2">
          {isMe ? 'you' : (name ?? author.id)}
          {version.changes > 1 && ` · ${version.changes} changes`}
        </span>
      </span>
      <button type="button" className="btn" aria-expanded={open} onClick={onCompare}>
        Compare
      </button>
      <button type="button" className="btn" onClick={onRestore}>
        Restore
      </button>
    </div>
  );
}

function Compared({ path, number, now }: { path: string; number: number; now: string }) {
  const old = useLoaded(`version ${path} ${number}`, () => onyx.memory.version(path, number, 'body'));
  return (
    <Shown of={old} rows={1} height="h-24">
      {(text) =>
        text.trimEnd() === now.trimEnd() ? (
          <p className="meta px-5 pb-3">The text is the same as now.</p>
        ) : (
          <Diff lines={lineDiff(now, text)} label="What restoring this version changes" />
        )
      }
    </Shown>
  );
}
