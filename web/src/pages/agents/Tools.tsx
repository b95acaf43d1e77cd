import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { Field, Form, Section } from '../../ui/form';
import type { AgentTab } from './AgentPage';

const names = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** What an agent is offered. A tool that is not in its set does not exist for it. */
export function Tools({ agent, reload }: AgentTab) {
  const tools = agent.tools ?? { allow: [], deny: [] };
  const save = async (field: (name: string) => string) => {
    await onyx.agents.update(agent.id, { tools: { allow: names(field('allow')), deny: names(field('deny')) } });
    toast('Saved');
    reload();
  };
  return (
    <Section title="Tools" detail="Names of tools or groups (group:fs), with spaces between them. What is denied stays denied, whatever else allows it.">
      <div className="card p-4">
        <Form key={JSON.stringify(tools)} action="Save" onSubmit={save}>
          <Field label="Allowed" name="allow" defaultValue={(tools.allow ?? []).join(' ')} placeholder="all of its tier" className="field mt-1 font-mono text-text" />
          <Field label="Denied" name="deny" defaultValue={(tools.deny ?? []).join(' ')} placeholder="none" className="field mt-1 font-mono text-text" />
        </Form>
      </div>
    </Section>
  );
}
