import { Link, useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { Hash, Plus } from 'lucide-react';
import type { Channel } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { useStore } from '../../store/state';
import { Field, Form } from '../../ui/form';
import { hueOf } from '../../ui/hue';
import { Modal } from '../../ui/Modal';
import { Empty, Page, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { keepChannel, useChannels } from './data';

/** The list of channels. */
export function ChannelsPage() {
  const channels = useChannels();
  const spaces = useLoaded('spaces', () => onyx.spaces.list());
  const [making, setMaking] = useState(false);
  const nameOf = (space: string) => spaces.data?.find((one) => one.id === space)?.name ?? space;
  const begin = (
    <button type="button" className="text-accent underline underline-offset-3" onClick={() => setMaking(true)}>
      New channel
    </button>
  );
  return (
    <Page
      title="Channels"
      bar={
        <button type="button" className="btn" onClick={() => setMaking(true)}>
          <Plus size={15} aria-hidden /> New channel
        </button>
      }
    >
      <Shown of={channels} height="h-20">
        {(list) =>
          list.length === 0 ? (
            <Empty>In a channel, several agents answer in threads, using the sources that you give them. {begin}</Empty>
          ) : (
            <ul className="grid grid-cols-1 gap-3 sm:grid-cols-2">
              {list.map((channel) => (
                <li key={channel.id}>
                  <Card channel={channel} space={nameOf(channel.space)} />
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
      {making && <NewChannel close={() => setMaking(false)} />}
    </Page>
  );
}

function Card({ channel, space }: { channel: Channel; space: string }) {
  const agents = useStore((state) => state.status?.agents);
  const { name, purpose, coworkers, threads } = channel;
  return (
    <Link
      to="/channels/$channel"
      params={{ channel: channel.id }}
      className="card block h-full px-4 py-3 hover:border-dim/60"
    >
      <span className="flex items-center gap-2">
        <Hash size={15} className="shrink-0 text-dim" aria-hidden />
        <span className="min-w-0 truncate font-semibold" dir="auto">
          {name}
        </span>
        <span className="ml-auto max-w-28 shrink-0 truncate text-tiny text-dim" title={space}>
          {space}
        </span>
      </span>
      <span className="meta line-clamp-2 min-h-5" dir="auto">
        {purpose || 'No purpose set.'}
      </span>
      <span className="mt-1.5 flex items-center gap-1.5 text-tiny text-dim">
        {coworkers.slice(0, 5).map(({ agent }) => (
          <span key={agent} className="hue" style={{ background: hueOf(agent) }} aria-hidden />
        ))}
        <span className="min-w-0 truncate">
          {coworkers.map(({ agent }) => agents?.find((known) => known.id === agent)?.name ?? agent).join(', ') ||
            'No coworkers yet'}
        </span>
        <span className="ml-auto shrink-0">
          {threads} {threads === 1 ? 'thread' : 'threads'}
        </span>
      </span>
    </Link>
  );
}

/** Creates a channel in a space; if there is no space yet, one is created with it. */
function NewChannel({ close }: { close: () => void }) {
  const navigate = useNavigate();
  const id = useId();
  const spaces = useLoaded('spaces', () => onyx.spaces.list());
  const make = async (field: (name: string) => string) => {
    const named = field('new-space');
    // If the form was sent before the spaces were loaded, the first space is used.
    const chosen = field('space') || (named ? undefined : (await onyx.spaces.list())[0]?.id);
    const space = chosen ?? (await onyx.spaces.create({ name: named || 'Home' })).id;
    const channel = await onyx.channels.create({ space, name: field('name'), purpose: field('purpose') });
    keepChannel(channel);
    await navigate({ to: '/channels/$channel', params: { channel: channel.id } });
  };
  return (
    <Modal label="New channel" onClose={close} className="max-w-105">
      <div className="p-5">
        <h2 className="mb-3 font-semibold">New channel</h2>
        {/* The name can be typed at once; only the choice of a space waits until the spaces are loaded. */}
        <Form action="Create" onSubmit={make} onCancel={close}>
          <Field label="Name" name="name" autoFocus required maxLength={120} placeholder="launch" />
          <div className="meta">
            <label htmlFor={`${id}-purpose`}>Purpose</label>
            <textarea
              id={`${id}-purpose`}
              name="purpose"
              maxLength={4000}
              rows={3}
              className="field mt-1 h-auto py-2 text-text"
              placeholder="What this channel is for. Agents read it with every message."
            />
          </div>
          <Shown of={spaces} rows={1} height="h-9">
            {(list) =>
              list.length > 0 ? (
                <div className="meta">
                  <label htmlFor={`${id}-space`}>Space</label>
                  <select id={`${id}-space`} name="space" className="field mt-1 text-text">
                    {list.map((space) => (
                      <option key={space.id} value={space.id}>
                        {space.name}
                      </option>
                    ))}
                  </select>
                </div>
              ) : (
                <Field
                  label="Space"
                  name="new-space"
                  required
                  maxLength={120}
                  placeholder="Home"
                  hint="No space yet. One is created with the channel."
                />
              )
            }
          </Shown>
        </Form>
      </div>
    </Modal>
  );
}
