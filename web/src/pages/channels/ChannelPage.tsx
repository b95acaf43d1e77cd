import { Link, useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { MoreHorizontal, Pencil, Trash2 } from 'lucide-react';
import type { Channel, SourceScope } from '@onyx/sdk';
import { Composer } from '../../chat/Composer';
import { Header } from '../../shell/Header';
import { sayInThread } from '../../store/threads';
import { onyx } from '../../store/client';
import { writeStored } from '../../store/browserStorage';
import { textOf } from '../../store/messages';
import { useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { Field, Form, Section, Select } from '../../ui/form';
import { Menu } from '../../ui/Menu';
import { Confirm, Modal } from '../../ui/Modal';
import { Empty, Shown } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { Coworkers } from './Coworkers';
import { dropChannel, keepChannel, useChannels, useCoworkers } from './data';
import { Sources } from './Sources';
import { ThreadRows } from './ThreadList';
import { titleFrom } from './words';

/** A channel: its threads, coworkers and knowledge sources. */
export function ChannelPage({ id }: { id: string }) {
  const channels = useChannels();
  const channel = channels.data?.find((known) => known.id === id);
  return (
    <>
      <Header title={channel ? `# ${channel.name}` : 'Channel'} back="/channels">
        {channel && <ChannelMenu channel={channel} />}
      </Header>
      <div className="flex-1 overflow-y-auto px-4 py-4 md:px-6 md:py-6">
        <div className="mx-auto max-w-[760px]">
          <Shown of={channels} height="h-16">
            {() => (channel ? <Inside channel={channel} /> : <Gone what="channel" />)}
          </Shown>
        </div>
      </div>
      {channel && <Begin channel={channel} />}
    </>
  );
}

/** Shown when the target of a link was deleted. */
export function Gone({ what }: { what: string }) {
  return (
    <Empty>
      This {what} no longer exists.{' '}
      <Link to="/channels" className="text-accent underline underline-offset-3">
        All channels
      </Link>
    </Empty>
  );
}

function Inside({ channel }: { channel: Channel }) {
  const threads = useLoaded(`threads ${channel.id}`, () => onyx.threads.list({ channel: channel.id }));
  return (
    <>
      <p className="meta mb-6 whitespace-pre-wrap [overflow-wrap:anywhere]" dir="auto">
        {channel.purpose || 'No purpose set.'}
      </p>
      <Section title="Threads">
        <Shown of={threads} rows={3} height="h-14">
          {(list) => <ThreadRows threads={list} />}
        </Shown>
      </Section>
      <Coworkers channel={channel} />
      <Knowledge channel={channel} />
    </>
  );
}

/** The knowledge sources of the channel, of its space, and of each coworker. */
function Knowledge({ channel }: { channel: Channel }) {
  const agents = useStore((state) => state.status?.agents);
  const places: [SourceScope, string][] = [
    [{ type: 'channel', id: channel.id, space: channel.space }, 'This channel'],
    [{ type: 'space', id: channel.space }, 'The whole space'],
    ...channel.coworkers.map(({ agent }): [SourceScope, string] => [
      { type: 'agent', id: agent },
      agents?.find((known) => known.id === agent)?.name ?? agent,
    ]),
  ];
  const [chosen, setChosen] = useState(0);
  // biome-ignore lint/style/noNonNullAssertion: the channel itself is always the first.
  const [scope] = places[chosen] ?? places[0]!;
  return (
    <Section
      title="Knowledge"
      detail="Passages that match a message are given to its coworkers as evidence, never as instructions."
    >
      <div className="mb-2 flex items-center gap-2 text-meta text-dim">
        <span aria-hidden>Available to</span>
        <Select
          label="Available to"
          value={String(chosen)}
          options={places.map(([, name], index) => [String(index), name])}
          onChange={(value) => setChosen(Number(value))}
        />
      </div>
      <Sources key={`${scope.type} ${scope.id}`} scope={scope} />
    </Section>
  );
}

function Begin({ channel }: { channel: Channel }) {
  const navigate = useNavigate();
  const { coworkers, usual } = useCoworkers(channel);
  const [round, setRound] = useState(0);
  const begin = async (words: string) => {
    const thread = await attempt('The thread was not started', () =>
      onyx.threads.create({ channel: channel.id, title: titleFrom(words) }),
    );
    if (!thread) {
      // The text is put back into the composer.
      writeStored(`onyx.draft.channel-${channel.id}`, words);
      return setRound(round + 1);
    }
    keepChannel({ ...channel, threads: channel.threads + 1 });
    void sayInThread(thread.id, words);
    await navigate({ to: '/channels/$channel/$thread', params: { channel: channel.id, thread: thread.id } });
  };
  return (
    <div className="shrink-0 px-3 pb-3 md:px-6 md:pb-5">
      <Composer
        key={round}
        draftKey={`channel-${channel.id}`}
        density="thread"
        placeholder="Start a thread"
        agent={usual?.id}
        mentions={coworkers}
        onSend={(content) => void begin(textOf(content))}
      />
    </div>
  );
}

function ChannelMenu({ channel }: { channel: Channel }) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState<'edit' | 'delete'>();
  const remove = async (yes: boolean) => {
    setAsking(undefined);
    if (!yes) return;
    const removed = await attempt('The channel was not deleted', () =>
      onyx.channels.remove(channel.id).then(() => true),
    );
    if (!removed) return;
    await navigate({ to: '/channels' });
    dropChannel(channel.id);
  };
  return (
    <>
      <Menu
        label="More for this channel"
        className="icon-btn"
        entries={[
          { label: 'Name and purpose', icon: <Pencil size={15} aria-hidden />, run: () => setAsking('edit') },
          { label: 'Delete', icon: <Trash2 size={15} aria-hidden />, tone: 'danger', run: () => setAsking('delete') },
        ]}
      >
        <MoreHorizontal size={18} aria-hidden />
      </Menu>
      {asking === 'edit' && <Edit channel={channel} close={() => setAsking(undefined)} />}
      {asking === 'delete' && (
        <Confirm
          question="Delete this channel?"
          detail="Its threads and its own sources are deleted too."
          action="Delete"
          onAnswer={(yes) => void remove(yes)}
        />
      )}
    </>
  );
}

function Edit({ channel, close }: { channel: Channel; close: () => void }) {
  const id = useId();
  const save = async (field: (name: string) => string) => {
    keepChannel(await onyx.channels.update(channel.id, { name: field('name'), purpose: field('purpose') }));
    close();
  };
  return (
    <Modal label="Name and purpose" onClose={close} className="max-w-105">
      <div className="p-5">
        <h2 className="mb-3 font-semibold">Name and purpose</h2>
        <Form action="Save" onSubmit={save} onCancel={close}>
          <Field label="Name" name="name" required maxLength={120} defaultValue={channel.name} autoFocus />
          <div className="meta">
            <label htmlFor={id}>Purpose</label>
            <textarea
              id={id}
              name="purpose"
              rows={4}
              maxLength={4000}
              dir="auto"
              className="field mt-1 h-auto py-2 text-text"
              defaultValue={channel.purpose}
            />
          </div>
        </Form>
      </div>
    </Modal>
  );
}
