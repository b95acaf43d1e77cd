import { useState } from 'react';
import { onyx } from '../../store/client';
import { Choices, Field, Form } from '../../ui/form';
import { Modal } from '../../ui/Modal';

type Way = 'command' | 'url' | 'json';

/** Adds a server by command, by address, or from another client's JSON. */
export function AddServer({ close, done }: { close: () => void; done: (said: string) => void }) {
  const [way, setWay] = useState<Way>('command');
  const add = async (field: (name: string) => string) => {
    const added = await onyx.mcp.add(servers(way, field));
    done(`${added.map((server) => server.name).join(', ')} added. Test it to see its tools.`);
  };
  return (
    <Modal label="Add an MCP server" onClose={close} className="max-w-130">
      <Choices
        label="Add by"
        value={way}
        options={[
          ['command', 'Command'],
          ['url', 'Address'],
          ['json', 'JSON'],
        ]}
        onChange={setWay}
      />
      <Form action="Add" onSubmit={add} onCancel={close}>
        {way !== 'json' && (
          <Field label="Name" name="name" required pattern="[a-z0-9_\-]{1,32}" hint="Lowercase letters and digits." />
        )}
        {way === 'command' && (
          <>
            <Field label="Command" name="command" required hint="For example: python3 /srv/tools/server.py" />
            <Field label="Folder it may read" name="read" hint="Optional. It runs in the sandbox, without network." />
          </>
        )}
        {way === 'url' && <Field label="Address" name="url" type="url" required />}
        {way === 'json' && (
          <label className="block">
            <span className="meta">JSON from another client</span>
            <textarea
              className="field min-h-40 w-full font-mono text-meta"
              name="json"
              required
              placeholder='{"mcpServers": {…}}'
            />
          </label>
        )}
      </Form>
    </Modal>
  );
}

function servers(way: Way, field: (name: string) => string): Record<string, unknown> {
  if (way === 'json') return JSON.parse(field('json')) as Record<string, unknown>;
  if (way === 'url') return { mcpServers: { [field('name')]: { url: field('url') } } };
  const [command, ...args] = field('command').trim().split(/\s+/);
  const folders = field('read') ? { read: [field('read')] } : {};
  return { mcpServers: { [field('name')]: { command, args, folders } } };
}
