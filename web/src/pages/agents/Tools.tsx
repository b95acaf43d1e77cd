import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { Field, Form, Section } from '../../ui/form';
import type { AgentTab } from './AgentPage';

const names = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** The tools that an agent is offered. A tool outside its policy does not exist for it. */
export function Tools({ agent, reload }: AgentTab) {
  const policy = agent.settings.tools ?? { allow: null, deny: [] };
  const save = async (field: (name: string) => string) => {
    const allow = names(field('allow'));
    await onyx.agents.update(agent.id, {
      // Settings that this form does not show are kept.
      tools: { ...agent.settings.tools, allow: allow.length > 0 ? allow : null, deny: names(field('deny')) },
    });
    toast('Saved');
    reload();
  };
  return (
    <>
      <Section
        title="Policy"
        detail="Tool or group names (group:fs), separated by spaces. Denied tools stay denied even if also allowed."
      >
        <div className="card p-4">
          <Form key={JSON.stringify(policy)} action="Save" onSubmit={save}>
            <Field
              label="Allowed"
              name="allow"
              defaultValue={(policy.allow ?? []).join(' ')}
              placeholder="all tools"
              className="field mt-1 font-mono text-[13px] text-text"
            />
            <Field
              label="Denied"
              name="deny"
              defaultValue={(policy.deny ?? []).join(' ')}
              placeholder="none"
              className="field mt-1 font-mono text-[13px] text-text"
            />
          </Form>
        </div>
      </Section>
      <Section title="Available tools">
        {agent.tools.length === 0 ? (
          <p className="meta">No tools. This agent can only talk.</p>
        ) : (
          <ul className="flex flex-wrap gap-1.5">
            {agent.tools.map((tool) => (
              <li key={tool} className="chip font-mono">
                {tool}
              </li>
            ))}
          </ul>
        )}
      </Section>
    </>
  );
}
