import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { AgentDetails, AgentFields } from '@onyx/sdk';
import { onyx, refreshStatus } from '../../store/client';
import { toast, useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { Card, Choices, Field, Form, Line, Section, Switch } from '../../ui/form';
import { Confirm } from '../../ui/Modal';
import type { AgentTab } from './AgentPage';
import { ModelField, TIERS } from './fields';

/** Changes the agent and says what was done. */
type Change = (patch: AgentFields, said: string) => Promise<void>;

export function Overview({ agent, reload }: AgentTab) {
  const owner = useStore((state) => state.me?.role !== 'member');
  const change: Change = async (patch, said) => {
    await onyx.agents.update(agent.id, patch);
    toast(said);
    void refreshStatus();
    reload();
  };
  return (
    <>
      <Permissions agent={agent} owner={owner} change={change} />
      {agent.settings.workspace && (
        <Section title="Workspace" detail={agent.settings.workspace}>
          <p className="meta">Its persona files are read from this folder instead of the home.</p>
        </Section>
      )}
      <NameAndModel agent={agent} change={change} />
      {owner && !agent.default && <Delete agent={agent} />}
    </>
  );
}

function Permissions({ agent, owner, change }: { agent: AgentDetails; owner: boolean; change: Change }) {
  const set = (patch: AgentFields, said: string) => void attempt('Not changed', () => change(patch, said));
  return (
    <Section title="Permissions" detail={TIERS[agent.tier].detail}>
      <Card>
        <Line label="Tier">
          <Choices
            label="Tier"
            value={agent.tier}
            options={(['read', 'suggest', 'act'] as const).map((tier) => [tier, TIERS[tier].title])}
            onChange={(tier) => owner && set({ tier }, `${agent.name}: ${TIERS[tier].title.toLowerCase()}`)}
          />
        </Line>
        <Line label="Enabled" detail="A disabled agent does not answer. Its files and chats stay.">
          <Switch
            label="Enabled"
            on={agent.enabled}
            disabled={!owner}
            onChange={(enabled) => set({ enabled }, enabled ? `${agent.name} is on` : `${agent.name} is off`)}
          />
        </Line>
        <Line label="Default" detail="Answers when no agent is named.">
          <Switch
            label="Default"
            on={agent.default}
            disabled={!owner || agent.default}
            onChange={() => set({ default: true }, `${agent.name} is now the default`)}
          />
        </Line>
      </Card>
    </Section>
  );
}

const list = (text: string) =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean);

function NameAndModel({ agent, change }: { agent: AgentDetails; change: Change }) {
  const save = (field: (name: string) => string) =>
    change(
      {
        name: field('name'),
        model: field('model') || null,
        fallbacks: list(field('fallbacks')),
        temperature: field('temperature') ? Number(field('temperature')) : null,
      },
      'Saved',
    );
  return (
    <Section title="Name and model">
      <div className="card p-4">
        <Form key={JSON.stringify(agent)} action="Save" onSubmit={save}>
          <Field label="Name" name="name" defaultValue={agent.name} required />
          <ModelField value={agent.settings.model} />
          <Field
            label="Fallback models"
            name="fallbacks"
            defaultValue={(agent.settings.fallbacks ?? []).join(', ')}
            hint="Tried in this order when the model above fails. Separate them with commas."
          />
          <Field
            label="Temperature"
            name="temperature"
            type="number"
            min={0}
            max={2}
            step={0.1}
            defaultValue={agent.settings.temperature ?? ''}
            placeholder="the model’s own"
          />
        </Form>
      </div>
    </Section>
  );
}

function Delete({ agent }: { agent: AgentDetails }) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  const remove = async (yes: boolean) => {
    setAsking(false);
    if (!yes || !(await attempt('Not deleted', () => onyx.agents.remove(agent.id).then(() => true)))) return;
    void refreshStatus();
    await navigate({ to: '/agents' });
  };
  return (
    <>
      <Section title="Delete">
        <Card>
          <Line label={`Delete ${agent.name}`} detail="Its files and chats stay on disk.">
            <button type="button" className="btn btn-danger" onClick={() => setAsking(true)}>
              Delete
            </button>
          </Line>
        </Card>
      </Section>
      {asking && (
        <Confirm
          question={`Delete ${agent.name}?`}
          detail="It will no longer answer. Its files and chats stay on disk."
          action="Delete"
          onAnswer={(yes) => void remove(yes)}
        />
      )}
    </>
  );
}
