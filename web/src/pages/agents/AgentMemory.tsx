import { Link } from '@tanstack/react-router';
import { onyx } from '../../store/client';
import { Card, Line, Section } from '../../ui/form';
import { Shown } from '../../ui/page';
import { ago } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import { Sources } from '../channels/Sources';
import type { AgentTab } from './AgentPage';

/** The memory files of this agent about the person, and its knowledge sources. */
export function AgentMemory({ agent }: AgentTab) {
  const folder = `memory/${agent.id}/`;
  const files = useLoaded(`memory of ${agent.id}`, async () =>
    (await onyx.memory.files({ types: 'memory,daily' })).files.filter((file) => file.path.startsWith(folder)),
  );
  return (
    <>
      <Section title="Memory" detail="Long-term facts and a daily log.">
        <Shown of={files}>
          {(list) => (
            <Card>
              {list.length === 0 && <Line label={<span className="meta">No memories yet.</span>} />}
              {list.map((file) => (
                <Line key={file.path} label={file.path.slice(folder.length)} detail={`changed ${ago(file.modified)}`}>
                  <Link to="/memory" search={{ path: file.path }} className="btn" aria-label={`Open ${file.path}`}>
                    Open
                  </Link>
                </Line>
              ))}
            </Card>
          )}
        </Shown>
      </Section>
      <Section title="Knowledge sources" detail={`What ${agent.name} can look up in every conversation with you.`}>
        <Sources scope={{ type: 'agent', id: agent.id }} />
      </Section>
    </>
  );
}
