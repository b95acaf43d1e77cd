import { useState } from 'react';
import { authorOf, type MemoryVersion } from '@onyx/sdk';
import { Diff } from '../../chat/Diff';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { lineDiff } from '../../ui/diff';
import { Empty, Shown } from '../../ui/page';
import { ago, fullTime } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';

/** The versions of a file, newest first, with a comparison and a restore button. */
export function History({ path, now, onRestored }: { path: string; now: string; onRestored: () => void }) {
  const versions = useLoaded(`history ${path}`, () => onyx.memory.history(path));
  const [chosen, setChosen] = useState<MemoryVersion>();
  const restore = async (version: MemoryVersion) => {
    if (!(await attempt('Not restored', () => onyx.memory.restore(path, version.version).then(() => true)))) return;
    toast('Restored. The version before it is kept.');
    onRestored();
  };
  return (
    <Shown of={versions}>
      {(list) =>
        list.length === 0 ? (
          <Empty>No earlier versions.</Empty>
        ) : (
          <ul className="card divide-y divide-line overflow-hidden" aria-label="Versions">
            {list.map((version) => (
              <li key={version.version}>
                <div className="flex flex-wrap items-center gap-3 px-4 py-2.5">
                  <span className="min-w-0 flex-1" title={fullTime(version.ts)}>
                    {ago(version.ts)}
                    <span className="meta ml-2">
                      {[
                        authorOf(version.author).id,
                        version.created ? 'created' : version.deleted ? 'deleted' : version.tool,
                      ].join(' · ')}
                    </span>
                  </span>
                  <button
                    type="button"
                    className="btn"
                    aria-expanded={chosen === version}
                    onClick={() => setChosen(chosen === version ? undefined : version)}
                  >
                    Compare
                  </button>
                  <button type="button" className="btn" onClick={() => void restore(version)}>
                    Restore
                  </button>
                </div>
                {chosen === version && <Compared path={path} version={version.version} now={now} />}
              </li>
            ))}
          </ul>
        )
      }
    </Shown>
  );
}

function Compared({ path, version, now }: { path: string; version: number; now: string }) {
  const old = useLoaded(`version ${path} ${version}`, () => onyx.memory.version(path, version));
  return (
    <Shown of={old} rows={1} height="h-24">
      {(text) =>
        text === now ? (
          <p className="meta px-4 pb-3">Same as the current file.</p>
        ) : (
          <Diff lines={lineDiff(now, text)} label={`What restoring this version of ${path} changes`} />
        )
      }
    </Shown>
  );
}
