import { useEffect } from 'react';
import { onyx, watch } from '../../store/client';
import { useStore } from '../../store/state';
import { Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import type { AgentTab } from './AgentPage';
import { EditorBar } from './persona/EditorBar';
import { useEditorSteps } from './persona/editor';
import { Files, readOr, SOUL } from './persona/Files';
import { PromptEditor } from './persona/PromptEditor';
import { TestInputs } from './persona/TestInputs';

/** The persona editor: the system prompt, the test inputs, and an agent that helps to write both. */
export function Persona({ agent, reload }: AgentTab) {
  const { id } = agent;
  const owner = useStore((state) => state.me?.role !== 'member');
  const prompt = useLoaded(`prompt ${id}`, () => readOr(id, SOUL));
  // A disabled agent can be neither tested nor edited by messages.
  const persona = useLoaded(agent.enabled ? `persona ${id}` : undefined, () => onyx.personas.get(id));
  const inputs = useLoaded(agent.enabled ? `test inputs ${id}` : undefined, () => onyx.personas.testInputs(id));
  const steps = useEditorSteps(id);

  const again = () => (prompt.reload(), inputs.reload(), reload());
  useEffect(() => watch('agents', again), [id]);
  // Each step of the editor may have changed what is on the screen.
  useEffect(() => {
    if (steps > 0) again();
  }, [steps]);

  return (
    <>
      <div className="min-h-0 flex-1 overflow-y-auto px-4 py-4 md:px-6 md:py-6">
        <div className="mx-auto max-w-[1000px] pb-10">
          <div className="mb-8 grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
            <Shown of={prompt} rows={1} height="h-64">
              {(found) => (
                <PromptEditor
                  key={id}
                  found={found}
                  readOnly={!owner}
                  put={(text, replaces) => onyx.agents.writeFile(id, SOUL, text, replaces || undefined)}
                  reload={prompt.reload}
                />
              )}
            </Shown>
            {agent.enabled ? (
              <TestInputs key={id} persona={id} inputs={inputs} prompt={prompt.data?.version ?? ''} owner={owner} />
            ) : (
              <section aria-label="Test inputs" className="card p-3.5">
                <h2 className="meta">Test inputs</h2>
                <p className="meta py-2">{agent.name} is off. Turn it on to try it and to let the editor work on it.</p>
              </section>
            )}
          </div>
          <Files agent={agent} reload={reload} />
        </div>
      </div>
      {owner && agent.enabled && <EditorBar key={id} persona={id} known={persona.data?.agentChatSessionId} />}
    </>
  );
}
