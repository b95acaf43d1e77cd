import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Plus } from 'lucide-react';
import { onyx, refreshStatus } from '../../store/client';
import { useStore } from '../../store/state';
import { Field, Form } from '../../ui/form';
import { hueOf } from '../../ui/hue';
import { Modal } from '../../ui/Modal';
import { Page, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { ModelField, TIERS } from './fields';

/** The list of agents. */
export function AgentsPage() {
  const agents = useLoaded('agents', () => onyx.agents.list());
  const owner = useStore((state) => state.me?.role !== 'member');
  const [making, setMaking] = useState(false);
  return (
    <Page
      title="Agents"
      bar={
        owner && (
          <button type="button" className="btn" onClick={() => setMaking(true)}>
            <Plus size={15} aria-hidden /> New agent
          </button>
        )
      }
    >
      <Shown of={agents} height="h-20">
        {(list) => (
          <ul className="grid grid-cols-1 gap-3 sm:grid-cols-2">
            {list.map((agent) => (
              <li key={agent.id}>
                <Link
                  to="/agents/$id/$tab"
                  params={{ id: agent.id, tab: 'overview' }}
                  className={`card block border-l-3 px-4 py-3 hover:border-dim/60 ${agent.enabled ? '' : 'opacity-60'}`}
                  style={{ borderLeftColor: hueOf(agent.id) }}
                >
                  <span className="flex items-center gap-2">
                    <span className="min-w-0 truncate font-semibold">{agent.name}</span>
                    {agent.default && <span className="text-tiny text-dim">default</span>}
                    {!agent.enabled && <span className="text-tiny text-dim">off</span>}
                    <span className="ml-auto shrink-0 text-tiny text-dim">{TIERS[agent.tier].title}</span>
                  </span>
                  <span className="meta block truncate font-mono">{agent.model ?? 'the default model'}</span>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </Shown>
      {making && <NewAgent close={() => setMaking(false)} />}
    </Page>
  );
}

function NewAgent({ close }: { close: () => void }) {
  const navigate = useNavigate();
  // Otherwise the agent would answer with the embedded model although a better one is connected.
  const model = useStore((state) => state.status?.agents.find((agent) => agent.default)?.model);
  const make = async (field: (name: string) => string) => {
    const id = field('id');
    await onyx.agents.create({ id, name: field('name') || undefined, model: field('model') || undefined });
    void refreshStatus();
    await navigate({ to: '/agents/$id/$tab', params: { id, tab: 'persona' } });
  };
  return (
    <Modal label="New agent" onClose={close} className="max-w-105">
      <div className="p-5">
        <h2 className="mb-3 font-semibold">New agent</h2>
        <Form action="Create" onSubmit={make} onCancel={close}>
          <Field label="Name" name="name" autoFocus placeholder="Optimist" />
          <Field
            label="Id"
            name="id"
            required
            pattern="[a-z0-9][a-z0-9_\-]*"
            hint="Lowercase letters and digits. It names the agent’s folder and cannot be changed later."
          />
          <ModelField value={model} />
        </Form>
      </div>
    </Modal>
  );
}
