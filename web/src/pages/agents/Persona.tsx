import { useState } from 'react';
import { OnyxError, type StoredFile } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { FileEditor } from '../../ui/FileEditor';
import { Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import type { AgentTab } from './AgentPage';

const USUAL: [string, string][] = [
  ['SOUL.md', 'Character and tone'],
  ['AGENTS.md', 'How it works'],
  ['IDENTITY.md', 'Who it is'],
  ['TOOLS.md', 'How it uses tools'],
  ['HEARTBEAT.md', 'What it looks after by itself'],
];

/** The files that say who an agent is. */
export function Persona({ agent, reload }: AgentTab) {
  const others = agent.files.filter((name) => !USUAL.some(([usual]) => usual === name));
  const names: [string, string][] = [...USUAL, ...others.map((name): [string, string] => [name, ''])];
  const [name, setName] = useState(names.find(([one]) => agent.files.includes(one))?.[0] ?? 'SOUL.md');
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-4 md:flex-row">
      <nav aria-label="Files" className="flex shrink-0 gap-0.5 max-md:overflow-x-auto md:w-48 md:flex-col">
        {names.map(([one, about]) => (
          <button key={one} type="button" className="nav-item h-auto min-h-9 shrink-0 py-1 text-left" aria-current={one === name ? 'page' : undefined} onClick={() => setName(one)}>
            <span className="min-w-0">
              <span className={`block truncate ${agent.files.includes(one) ? '' : 'text-dim'}`}>{one}</span>
              {about && <span className="block text-tiny text-dim max-md:hidden">{about}</span>}
            </span>
          </button>
        ))}
      </nav>
      <PersonaFile key={name} agent={agent.id} name={name} exists={agent.files.includes(name)} onWritten={reload} />
    </div>
  );
}

function PersonaFile({ agent, name, exists, onWritten }: { agent: string; name: string; exists: boolean; onWritten: () => void }) {
  const file = useLoaded(`persona ${agent} ${name}`, () => read(agent, name));
  const written = () => {
    file.reload();
    onWritten();
  };
  return (
    <div className="flex min-h-80 min-w-0 flex-1 flex-col">
      <Shown of={file} rows={1} height="h-80">
        {(opened) => (
          <FileEditor
            file={opened}
            note={exists ? undefined : 'There is no such file yet; saving makes it.'}
            write={(text) => onyx.agents.writeFile(agent, name, text, opened.version || undefined)}
            onWritten={written}
          />
        )}
      </Shown>
    </div>
  );
}

async function read(agent: string, name: string): Promise<StoredFile> {
  try {
    return await onyx.agents.readFile(agent, name);
  } catch (error) {
    if (error instanceof OnyxError && error.code === 'not_found') return { text: '', version: '' };
    throw error;
  }
}
