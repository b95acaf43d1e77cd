import { useState } from 'react';
import { Plus } from 'lucide-react';
import type { McpServer } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Card, Section } from '../../ui/form';
import { Confirm } from '../../ui/Modal';
import { Empty, Page, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { Words } from '../../ui/words';
import { AddServer } from './AddServer';
import { Tool, waits } from './Tool';

/** The state of the server's program or address. */
const STATUSES: Record<McpServer['status'], string> = {
  idle: 'starts when needed',
  starting: 'starting',
  running: 'running',
  failing: 'failing',
};

/** The MCP servers, and which of their tools agents may use. */
export function McpPage() {
  const servers = useLoaded('mcp', () => onyx.mcp.list());
  const [adding, setAdding] = useState(false);
  const done = (said?: string) => {
    setAdding(false);
    if (said) toast(said);
    servers.reload();
  };
  return (
    <Page
      title="MCP servers"
      bar={
        <button type="button" className="btn" onClick={() => setAdding(true)}>
          <Plus size={15} aria-hidden /> Add
        </button>
      }
    >
      <Shown of={servers}>
        {(list) =>
          list.length === 0 ? (
            <div className="card">
              <Empty>No MCP servers yet. Add a program or an address that offers tools.</Empty>
            </div>
          ) : (
            list.map((server) => <Server key={server.name} server={server} done={done} />)
          )
        }
      </Shown>
      {adding && <AddServer close={() => setAdding(false)} done={done} />}
    </Page>
  );
}

function Server({ server, done }: { server: McpServer; done: (said?: string) => void }) {
  const [busy, setBusy] = useState(false);
  const [removing, setRemoving] = useState(false);
  const test = async () => {
    setBusy(true);
    await attempt('Not tested', () => onyx.mcp.test(server.name));
    setBusy(false);
    done();
  };
  const acceptAll = async () => {
    const seen = Object.fromEntries(server.tools.filter(waits).map((tool) => [tool.name, tool.hash ?? '']));
    if (await attempt('Not accepted', () => onyx.mcp.accept(server.name, seen))) done('Accepted');
  };
  const remove = async (yes: boolean) => {
    setRemoving(false);
    if (yes && (await attempt('Not removed', () => onyx.mcp.remove(server.name).then(() => true))))
      done(`${server.name} was removed`);
  };
  return (
    <Section
      title={server.name}
      detail={<About server={server} />}
      action={
        <div className="flex gap-2">
          {server.tools.some(waits) && (
            <button type="button" className="btn btn-primary" onClick={() => void acceptAll()}>
              Accept all
            </button>
          )}
          <button type="button" className="btn" disabled={busy} onClick={() => void test()}>
            {busy ? 'Testing' : 'Test'}
          </button>
          <button
            type="button"
            className="btn btn-danger"
            aria-label={`Remove ${server.name}`}
            onClick={() => setRemoving(true)}
          >
            Remove
          </button>
        </div>
      }
    >
      {server.tools.length === 0 ? (
        <p className="meta">No tools are known yet. Test the server to see them.</p>
      ) : (
        <Card>
          {server.tools.map((tool) => (
            <Tool key={tool.name} server={server.name} tool={tool} done={done} />
          ))}
        </Card>
      )}
      {server.log.length > 0 && (
        <details className="mt-2">
          <summary className="meta cursor-pointer">Log</summary>
          <pre className="overflow-x-auto text-meta" tabIndex={0} aria-label={`Log of ${server.name}`}>
            {server.log.join('\n')}
          </pre>
        </details>
      )}
      {removing && (
        <Confirm
          question={`Remove ${server.name}?`}
          detail="Agents can no longer use its tools."
          action="Remove"
          onAnswer={(yes) => void remove(yes)}
        />
      )}
    </Section>
  );
}

/** Where the server is, how it is, and which hosts it reaches. */
function About({ server }: { server: McpServer }) {
  const detail = [
    server.place,
    STATUSES[server.status],
    server.protocol,
    server.network.length > 0 && server.network.join(', '),
  ];
  return (
    <>
      {detail.filter(Boolean).join(' · ')}
      {server.problem && (
        <span className="block text-danger">
          <Words>{server.problem}</Words>
        </span>
      )}
    </>
  );
}
