import { Link } from '@tanstack/react-router';
import { useRef } from 'react';
import { Plus, X } from 'lucide-react';
import type { Channel } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { Card, Section } from '../../ui/form';
import { hueOf } from '../../ui/hue';
import { Menu } from '../../ui/Menu';
import { keepChannel } from './data';

/** The coworkers of a channel, with buttons to add, remove and choose the primary. */
export function Coworkers({ channel }: { channel: Channel }) {
  const agents = useStore((state) => state.status?.agents) ?? [];
  const { id, coworkers } = channel;
  const free = agents.filter((agent) => !coworkers.some((coworker) => coworker.agent === agent.id));
  // The changes are sent one after the other, so that no answer is older than what is shown.
  const changing = useRef(Promise.resolve());
  const change = (failed: string, act: () => Promise<unknown>) => {
    changing.current = changing.current.then(async () => {
      const done = await attempt(failed, async () => (await act(), onyx.channels.get(id)));
      keepChannel(done ?? channel);
    });
  };
  const setPrimary = (chosen: string) => {
    // Shown at once; the server's answer follows.
    keepChannel({ ...channel, coworkers: coworkers.map(({ agent }) => ({ agent, primary: agent === chosen })) });
    change('The primary was not changed', () => onyx.channels.setPrimary(id, chosen));
  };
  return (
    <Section
      title="Coworkers"
      detail="The primary answers, unless a message calls others with @name."
      action={
        free.length > 0 && (
          <Menu
            label="Add a coworker"
            className="btn"
            entries={free.map((agent) => ({
              label: agent.name,
              detail: agent.model ?? undefined,
              icon: <span className="hue" style={{ background: hueOf(agent.id) }} aria-hidden />,
              run: () => change(`${agent.name} was not added`, () => onyx.channels.assign(id, { agent: agent.id })),
            }))}
          >
            <Plus size={15} aria-hidden /> Add
          </Menu>
        )
      }
    >
      <Card>
        {coworkers.length === 0 && <p className="meta px-4 py-3">No coworkers yet. The space’s agent answers.</p>}
        {coworkers.map(({ agent, primary }) => {
          const known = agents.find((one) => one.id === agent);
          const name = known?.name ?? agent;
          return (
            <div key={agent} className="flex min-h-12 items-center gap-2.5 px-4 py-1.5">
              <span className="hue" style={{ background: hueOf(agent) }} aria-hidden />
              <span className="min-w-0 flex-1">
                <Link
                  to="/agents/$id/$tab"
                  params={{ id: agent, tab: 'overview' }}
                  className="block truncate hover:underline"
                >
                  {name}
                </Link>
                {!known && <span className="block text-tiny text-warn">This agent no longer exists.</span>}
              </span>
              <label className="flex min-h-8 items-center gap-1.5 text-meta text-dim max-md:min-h-11">
                <input
                  type="radio"
                  name={`primary-${id}`}
                  className="size-4 accent-(--accent)"
                  checked={primary}
                  aria-label={`Primary: ${name}`}
                  onChange={() => setPrimary(agent)}
                />
                Primary
              </label>
              <button
                type="button"
                className="icon-btn -mr-2"
                aria-label={`Remove ${name}`}
                title={`Remove ${name}`}
                onClick={() => change(`${name} was not removed`, () => onyx.channels.dismiss(id, agent))}
              >
                <X size={16} aria-hidden />
              </button>
            </div>
          );
        })}
      </Card>
    </Section>
  );
}
