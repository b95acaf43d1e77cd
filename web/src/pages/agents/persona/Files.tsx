import { useState } from 'react';
import { OnyxError, type AgentDetails, type StoredFile } from '@onyx/sdk';
import { onyx } from '../../../store/client';
import { FileEditor } from '../../../ui/FileEditor';
import { Section } from '../../../ui/form';
import { Shown } from '../../../ui/page';
import { useLoaded } from '../../../ui/useLoaded';

/** The file that holds the system prompt. */
export const SOUL = 'SOUL.md';

const USUAL: [string, string][] = [
  ['AGENTS.md', 'How it works'],
  ['IDENTITY.md', 'Who it is'],
  ['TOOLS.md', 'How it uses tools'],
  ['HEARTBEAT.md', 'What it checks on its own'],
];

/** The other files of an agent's prompt. */
export function Files({ agent, reload }: { agent: AgentDetails; reload: () => void }) {
  const others = agent.files.filter(
    (name) => name !== SOUL && !name.includes('/') && !USUAL.some(([usual]) => usual === name),
  );
  const names: [string, string][] = [...USUAL, ...others.map((name): [string, string] => [name, ''])];
  const [name, setName] = useState<string>();
  return (
    <Section title="Other files" detail="Other files that are part of its prompt.">
      <div className="flex flex-wrap gap-2">
        {names.map(([one, about]) => (
          <button
            key={one}
            type="button"
            className="chip max-w-full"
            title={about || undefined}
            aria-pressed={one === name}
            onClick={() => setName(one === name ? undefined : one)}
          >
            <span className={`truncate ${one === name ? 'text-accent' : agent.files.includes(one) ? 'text-text' : ''}`}>
              {one}
            </span>
            {!agent.files.includes(one) && <span className="text-tiny">none yet</span>}
          </button>
        ))}
      </div>
      {name && (
        <Opened key={name} agent={agent.id} name={name} exists={agent.files.includes(name)} onWritten={reload} />
      )}
    </Section>
  );
}

function Opened({
  agent,
  name,
  exists,
  onWritten,
}: {
  agent: string;
  name: string;
  exists: boolean;
  onWritten: () => void;
}) {
  const file = useLoaded(`persona ${agent} ${name}`, () => readOr(agent, name));
  return (
    <div className="mt-3 flex min-h-96 min-w-0 flex-col">
      <Shown of={file} rows={1} height="h-80">
        {(opened) => (
          <FileEditor
            file={opened}
            note={exists ? name : 'This file does not exist yet. Saving creates it.'}
            write={(text) => onyx.agents.writeFile(agent, name, text, opened.version || undefined)}
            onWritten={() => (file.reload(), onWritten())}
          />
        )}
      </Shown>
    </div>
  );
}

/** A file of an agent; empty if it does not exist. */
export async function readOr(agent: string, name: string): Promise<StoredFile> {
  try {
    return await onyx.agents.readFile(agent, name);
  } catch (error) {
    if (error instanceof OnyxError && error.code === 'not_found') return { text: '', version: '' };
    throw error;
  }
}
