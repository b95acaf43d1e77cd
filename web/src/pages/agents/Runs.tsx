import { Link } from '@tanstack/react-router';
import { onyx } from '../../store/client';
import { titleOf, turnsOf } from '../../shell/links';
import { Section } from '../../ui/form';
import { Empty, Shown } from '../../ui/page';
import { ago, fullTime, tokens } from '../../ui/time';
import { useLoaded } from '../../ui/useLoaded';
import type { AgentTab } from './AgentPage';

const ENDS: Record<string, [string, string]> = {
  done: ['done', 'text-ok-text'],
  cancelled: ['stopped', 'text-dim'],
  error: ['failed', 'text-danger'],
  interrupted: ['interrupted', 'text-warn'],
  awaiting_client: ['waits', 'text-warn'],
};

/** The agent's conversations, with the outcome of the last run of each. */
export function Runs({ agent }: AgentTab) {
  const sessions = useLoaded(`runs ${agent.id}`, () => onyx.sessions.list({ agent: agent.id, limit: 50 }));
  return (
    <Section title="Runs">
      <Shown of={sessions}>
        {(page) =>
          page.sessions.length === 0 ? (
            <Empty>{agent.name} has not worked yet.</Empty>
          ) : (
            <ul className="card divide-y divide-line">
              {page.sessions.map((session) => {
                const [word, color] = ENDS[session.lastRunStatus ?? ''] ?? ['', ''];
                return (
                  <li key={session.id}>
                    <Link
                      to="/chat/$id"
                      params={{ id: session.id }}
                      className="flex items-center gap-4 px-4 py-2.5 hover:bg-sunken"
                    >
                      <span className="min-w-0 flex-1">
                        <span className="block truncate">{titleOf(session)}</span>
                        <span className="meta" title={fullTime(session.updatedAt)}>
                          {ago(session.updatedAt)} · {turnsOf(session)} · {tokens(session.tokenCount)} tokens
                        </span>
                      </span>
                      <span className={`text-meta ${color}`}>{word}</span>
                    </Link>
                  </li>
                );
              })}
            </ul>
          )
        }
      </Shown>
    </Section>
  );
}
