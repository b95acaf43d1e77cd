import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { ChevronRight, FileText, Folder } from 'lucide-react';
import type { MemoryFile } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { Empty, Shown } from '../../ui/page';
import { ago } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';

interface Tree {
  folders: Map<string, Tree>;
  files: { name: string; file: MemoryFile }[];
}

const MOST_PAGES = 20;

async function allFiles(): Promise<MemoryFile[]> {
  const all: MemoryFile[] = [];
  let after: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer = await onyx.memory.files({ types: 'memory,daily,note,shared', after });
    all.push(...answer.files);
    after = answer.after ?? undefined;
    if (after === undefined) break;
  }
  return all;
}

/** The tree of folders on disk. */
export function Browse() {
  const files = useLoaded('memory-files', allFiles);
  return (
    <Shown of={files} rows={6} height="h-9">
      {(list) =>
        list.length === 0 ? (
          <Empty>Nothing here yet. Notes that you and your agents write appear here.</Empty>
        ) : (
          <div className="card p-2">
            <Branch files={list} />
          </div>
        )
      }
    </Shown>
  );
}

function Branch({ files }: { files: MemoryFile[] }) {
  const tree = useMemo(() => treeOf(files), [files]);
  return <Level tree={tree} depth={0} />;
}

function treeOf(files: MemoryFile[]): Tree {
  const root: Tree = { folders: new Map(), files: [] };
  for (const file of files) {
    const parts = file.path.split('/');
    const name = parts.pop() ?? file.path;
    let at = root;
    for (const part of parts) {
      const next = at.folders.get(part) ?? { folders: new Map(), files: [] };
      at.folders.set(part, next);
      at = next;
    }
    at.files.push({ name, file });
  }
  return root;
}

/** Deeper folders start closed: a vault may hold thousands. */
const OPEN_DEPTH = 1;

function Level({ tree, depth }: { tree: Tree; depth: number }) {
  return (
    <ul>
      {[...tree.folders].map(([name, inner]) => (
        <li key={name}>
          <FolderRow name={name} tree={inner} depth={depth} />
        </li>
      ))}
      {tree.files.map(({ name, file }) => (
        <li key={file.path}>
          <Link
            to="/memory"
            search={{ path: file.path }}
            className="nav-item"
            style={{ paddingLeft: 8 + depth * 20 + 20 }}
          >
            <FileText size={15} className="shrink-0 text-dim" aria-hidden />
            <span className="truncate" dir="auto">
              {name}
            </span>
            <span
              className={`ml-auto shrink-0 text-tiny ${file.problem ? 'text-warn' : 'text-dim'}`}
              title={file.problem ?? undefined}
            >
              {file.problem ? 'not readable' : ago(file.modified)}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function FolderRow({ name, tree, depth }: { name: string; tree: Tree; depth: number }) {
  const [open, setOpen] = useState(depth < OPEN_DEPTH);
  const count = countOf(tree);
  return (
    <>
      <button
        type="button"
        className="nav-item w-full"
        style={{ paddingLeft: 8 + depth * 20 }}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <ChevronRight
          size={13}
          className={`shrink-0 text-dim transition-transform ${open ? 'rotate-90' : ''}`}
          aria-hidden
        />
        <Folder size={15} className="shrink-0 text-dim" aria-hidden />
        <span className="truncate" dir="auto">
          {name}
        </span>
        <span className="ml-auto text-tiny text-dim">{count}</span>
      </button>
      {open && <Level tree={tree} depth={depth + 1} />}
    </>
  );
}

const countOf = (tree: Tree): number =>
  tree.files.length + [...tree.folders.values()].reduce((sum, inner) => sum + countOf(inner), 0);
