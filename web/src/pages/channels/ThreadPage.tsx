import { Navigate, useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import { BookOpenText, MoreHorizontal, Pencil, Trash2 } from 'lucide-react';
import { OnyxError, type Agent, type Channel, type Thread } from '@onyx/sdk';
import { Composer } from '../../chat/Composer';
import { Conversation } from '../../chat/Conversation';
import { TaintMark } from '../../chat/TaintMark';
import { Header } from '../../shell/Header';
import { say, show, stop } from '../../store/actions';
import { onyx } from '../../store/client';
import { textOf } from '../../store/messages';
import { useStore } from '../../store/state';
import { cancelAnswer, loadThread, questionAtWork, sayInThread } from '../../store/threads';
import { attempt } from '../../ui/act';
import { Menu } from '../../ui/Menu';
import { Ask, Confirm } from '../../ui/Modal';
import { Empty, ErrorLine, Page, Shown, Skeletons } from '../../ui/page';
import { useLoaded } from '../../ui/useLoaded';
import { useSettled } from '../../ui/useSettled';
import { Gone } from './ChannelPage';
import { keepChannel, useChannels, useCoworkers } from './data';
import { RetrievedPanel, type Asked } from './RetrievedPanel';
import { ThreadNav } from './ThreadList';

/** Opens a thread by its id alone, for links that do not name the channel. */
export function FindThread({ id }: { id: string }) {
  const thread = useLoaded(`thread ${id}`, () => onyx.threads.get(id));
  if (thread.data)
    return <Navigate to="/channels/$channel/$thread" params={{ channel: thread.data.channel, thread: id }} replace />;
  return (
    <Page title="Thread">
      <Shown of={thread}>{() => null}</Shown>
    </Page>
  );
}

/** One thread with the list of the channel's threads beside it. */
export function ThreadPage({ channelId, id }: { channelId: string; id: string }) {
  const channels = useChannels();
  const channel = channels.data?.find((known) => known.id === channelId);
  const threads = useLoaded(`threads ${channelId}`, () => onyx.threads.list({ channel: channelId }).catch(noneIfGone));
  const thread = threads.data?.find((known) => known.id === id);
  const { coworkers, usual } = useCoworkers(channel);
  const [asked, setAsked] = useState<Asked>();
  const ask = useCallback((turnId?: string) => setAsked(askedOf(id, turnId)), [id]);
  useEffect(() => {
    show(id);
    setAsked(undefined);
    return () => show(undefined);
  }, [id]);
  return (
    <>
      <Header title={thread?.title ?? 'Thread'} back={`/channels/${encodeURIComponent(channelId)}`}>
        <TaintMark sessionId={id} />
        {channel && <span className="meta hidden max-w-40 truncate sm:inline"># {channel.name}</span>}
        {thread && (
          <button
            type="button"
            className="icon-btn"
            aria-label="What is retrieved"
            title="What is retrieved"
            aria-expanded={asked !== undefined}
            onClick={() => (asked ? setAsked(undefined) : ask())}
          >
            <BookOpenText size={17} aria-hidden />
          </button>
        )}
        {thread && channel && <ThreadMenu thread={thread} channel={channel} renamed={threads.reload} />}
      </Header>
      <div className="relative flex min-h-0 flex-1">
        {threads.data && <ThreadNav threads={threads.data} beside={asked ? 'panel' : 'nothing'} />}
        <div className="flex min-w-0 flex-1 flex-col">
          {thread ? (
            <ThreadChat key={id} thread={thread} coworkers={coworkers} usual={usual} onRetrieved={ask} />
          ) : (
            <div className="flex-1 px-4 py-6 md:px-6">
              <div className="mx-auto max-w-[760px]">
                <Shown of={threads} height="h-20">
                  {() => <Gone what="thread" />}
                </Shown>
              </div>
            </div>
          )}
        </div>
        {thread && asked && (
          <RetrievedPanel thread={thread} channel={channel} asked={asked} close={() => setAsked(undefined)} />
        )}
      </div>
    </>
  );
}

/** A channel that does not exist has no threads; the page itself says that it is gone. */
function noneIfGone(error: unknown): Thread[] {
  if (error instanceof OnyxError && error.code === 'not_found') return [];
  throw error;
}

/** The named message of the log, or the last one. */
function askedOf(threadId: string, turnId?: string): Asked {
  const turns = useStore.getState().conversations[threadId]?.turns ?? [];
  const turn = turns.findLast((known) => known.type === 'user' && (turnId === undefined || known.id === turnId));
  return turn?.type === 'user' ? { turnId: turn.id, words: textOf(turn.content) } : { words: '' };
}

function ThreadChat({
  thread,
  coworkers,
  usual,
  onRetrieved,
}: {
  thread: Thread;
  coworkers: Agent[];
  usual?: Agent;
  onRetrieved: (turnId: string) => void;
}) {
  const { id } = thread;
  const online = useStore((state) => state.link === 'online');
  useEffect(() => {
    if (online) void loadThread(id);
  }, [id, online]);
  const takeBack = useCallback(
    (promised: string) => void attempt('The message was not withdrawn', () => cancelAnswer(id, promised)),
    [id],
  );
  const again = useCallback(
    (asked: string, agent?: string) => void say({ sessionId: id, retry: asked, agent: agent || undefined }),
    [id],
  );
  const halt = () => {
    const question = questionAtWork(id);
    return question ? takeBack(question) : void stop(id);
  };
  return (
    <>
      <Said id={id} again={again} takeBack={takeBack} retrieved={onRetrieved} />
      <div className="shrink-0 px-3 pb-3 md:px-6 md:pb-5">
        <Composer
          draftKey={id}
          sessionId={id}
          density="thread"
          agent={usual?.id}
          placeholder={
            coworkers.length > 1 ? `Message ${usual?.name ?? 'the thread'}, or call others with @` : undefined
          }
          mentions={coworkers}
          note={(words) => <Answering thread={id} words={words} usual={usual} />}
          onStop={halt}
          onSend={(content) => void sayInThread(id, textOf(content))}
        />
      </div>
    </>
  );
}

/** The agents that will answer, unless it is only the usual one. A message that calls nobody is not asked about. */
function Answering({ thread, words, usual }: { thread: string; words: string; usual?: Agent }) {
  const known = useStore((state) => state.status?.agents);
  const wanted = useSettled(words);
  const key = wanted.includes('@') ? `answerers ${thread} ${wanted}` : undefined;
  const { data: agents } = useLoaded(key, () => onyx.threads.answerers(thread, wanted));
  if (!agents || (agents.length === 1 && agents[0] === usual?.id)) return null;
  const names = agents.map((id) => known?.find((agent) => agent.id === id)?.name ?? id);
  return `${names.join(', ')} ${names.length === 1 ? 'answers' : 'answer'}`;
}

function Said({
  id,
  ...surface
}: {
  id: string;
  again: (asked: string, agent?: string) => void;
  takeBack: (promised: string) => void;
  retrieved: (asked: string) => void;
}) {
  const phase = useStore((state) => state.conversations[id]?.phase);
  const fault = useStore((state) => state.conversations[id]?.fault);
  const online = useStore((state) => state.link === 'online');
  const isEmpty = useStore(
    ({ conversations, pending }) =>
      !conversations[id]?.live && !conversations[id]?.turns.length && !pending.some((item) => item.sessionId === id),
  );
  if (!isEmpty) return <Conversation key={id} sessionId={id} density="thread" {...surface} />;
  return (
    <div className="flex-1 overflow-y-auto px-4 py-6 md:px-6">
      <div className="mx-auto max-w-[760px]">
        {phase === 'failed' && fault && (
          <ErrorLine fault={fault} action={{ label: 'Retry', run: () => void loadThread(id) }} />
        )}
        {phase === 'ready' && <Empty>No messages yet.</Empty>}
        {phase !== 'failed' &&
          phase !== 'ready' &&
          (online ? (
            <Skeletons rows={3} height="h-20" />
          ) : (
            <Empty>This thread appears when the connection is back.</Empty>
          ))}
      </div>
    </div>
  );
}

function ThreadMenu({ thread, channel, renamed }: { thread: Thread; channel: Channel; renamed: () => void }) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState<'name' | 'delete'>();
  const rename = async (title?: string) => {
    setAsking(undefined);
    if (title && (await attempt('The thread was not renamed', () => onyx.threads.rename(thread.id, title)))) renamed();
  };
  const remove = async (yes: boolean) => {
    setAsking(undefined);
    if (!yes) return;
    const removed = await attempt('The thread was not deleted', () => onyx.threads.remove(thread.id).then(() => true));
    if (!removed) return;
    keepChannel({ ...channel, threads: Math.max(0, channel.threads - 1) });
    await navigate({ to: '/channels/$channel', params: { channel: channel.id } });
  };
  return (
    <>
      <Menu
        label="More for this thread"
        className="icon-btn"
        entries={[
          { label: 'Rename', icon: <Pencil size={15} aria-hidden />, run: () => setAsking('name') },
          { label: 'Delete', icon: <Trash2 size={15} aria-hidden />, tone: 'danger', run: () => setAsking('delete') },
        ]}
      >
        <MoreHorizontal size={18} aria-hidden />
      </Menu>
      {asking === 'name' && (
        <Ask
          label="Name of this thread"
          value={thread.title}
          action="Rename"
          onAnswer={(title) => void rename(title)}
        />
      )}
      {asking === 'delete' && (
        <Confirm
          question="Delete this thread?"
          detail="The thread and its own sources are deleted permanently."
          action="Delete"
          onAnswer={(yes) => void remove(yes)}
        />
      )}
    </>
  );
}
