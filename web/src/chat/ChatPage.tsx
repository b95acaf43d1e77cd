import { lazy, Suspense, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Link, Navigate, useNavigate } from '@tanstack/react-router';
import { Archive, Hourglass, MoreHorizontal, Search, Users } from 'lucide-react';
import type { EntityRef, UserContent } from '@onyx/sdk';
import { attach, say, setArchived, show } from '../store/actions';
import { loadConversation, onyx } from '../store/client';
import { readStored, writeStored } from '../store/browserStorage';
import { spaceOf, useSpaces } from '../store/spaces';
import { useStore, type State } from '../store/state';
import { Empty, ErrorLine } from '../ui/page';
import { useLoaded } from '../ui/useLoaded';
import { Suggestions } from '../pages/actions/Suggestions';
import { COMPANION } from '../rail/useRail';
import { OUTPUT, titleIn, turnsOf } from '../shell/links';
import { Header } from '../shell/Header';
import { TourOffer } from '../shell/tour-offer';
import { placeOf } from './attached';
import { Composer } from './Composer';
import { Conversation } from './Conversation';
import { Find } from './Find';
import { FirstRun } from './FirstRun';
import { SessionMenu } from './SessionMenu';
import { useSharedFiles } from './shared';
import { TaintMark } from './TaintMark';
import { useMessages } from './useMessages';

const KeepShared = lazy(() => import('./KeepShared'));

/** The page of a chat. A conversation of a space, channel or persona is redirected to its own page. */
export function ChatPage({ id, turn }: { id: string; turn?: string }) {
  const space = useSpaces(({ list }) => spaceOf(list, id)?.id);
  const isThread = useStore((state) => state.sessions[id]?.origin === 'thread');
  const persona = useStore((state) => edited(state, id));
  if (isThread) return <Navigate to="/threads/$id" params={{ id }} replace />;
  if (persona !== undefined)
    return <Navigate to="/agents/$id/$tab" params={{ id: persona, tab: 'persona' }} hash={OUTPUT} replace />;
  if (space === undefined) return <Chat id={id} turn={turn} />;
  return <Navigate to="/spaces/$space" params={{ space }} hash={COMPANION} replace />;
}

/** The persona whose editor shows this conversation; none if it is archived or its agent was deleted. */
function edited({ sessions, status }: State, id: string): string | undefined {
  const session = sessions[id];
  const isOpen = session?.origin === 'agent_editor' && session.status === 'active';
  return isOpen && status?.agents.some((agent) => agent.id === session.agent) ? session.agent : undefined;
}

function Chat({ id, turn }: { id: string; turn?: string }) {
  const navigate = useNavigate();
  const session = useStore((state) => state.sessions[id]);
  const phase = useStore((state) => state.conversations[id]?.phase);
  const fault = useStore((state) => state.conversations[id]?.fault);
  const online = useStore((state) => state.link === 'online');
  const kept = useStore((state) => state.conversations[id]?.kept === true);
  const [finding, setFinding] = useState(false);
  // The agent chosen in place of the session's own, until another one is chosen.
  const [agent, setAgent] = useState<string>();
  const [found, setFound] = useState<number>();
  // Selects only whether there are messages: their content changes with every frame and is read by the conversation.
  const begun = useStore((state) => hasWords(state, id));

  useEffect(() => {
    show(id);
    return () => show(undefined);
  }, [id]);
  useEffect(() => {
    if (online) void loadConversation(id);
  }, [id, online]);
  useLayoutEffect(() => {
    const onFind = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key === 'f') {
        event.preventDefault();
        setFinding(true);
      }
    };
    addEventListener('keydown', onFind);
    return () => removeEventListener('keydown', onFind);
  }, []);

  const closeFind = () => {
    setFinding(false);
    setFound(undefined);
  };
  const send = (content: UserContent, model?: string) => void say({ content, sessionId: id, agent, model });
  const title = useStore((state) => titleIn(state, id));
  const isToRead = session?.origin === 'agent_editor';
  return (
    <>
      <Header title={title}>
        {session?.status === 'archived' && (
          <button
            type="button"
            className="chip"
            title="Unarchive this chat"
            onClick={() => void setArchived(session.id, false)}
          >
            <Archive size={14} aria-hidden /> Archived
          </button>
        )}
        {session?.attached && <About entity={session.attached} />}
        <TaintMark sessionId={id} />
        {session && session.agents.length > 1 && <Several agents={session.agents} />}
        {session && session.messageCount > 0 && <span className="meta hidden sm:inline">{turnsOf(session)}</span>}
        <button
          type="button"
          className="icon-btn"
          aria-label="Find in this chat"
          title="Find in this chat"
          onClick={() => setFinding(true)}
        >
          <Search size={16} aria-hidden />
        </button>
        {session && (
          <SessionMenu session={session} label="More for this chat" onDeleted={() => void navigate({ to: '/chat' })}>
            <MoreHorizontal size={18} aria-hidden />
          </SessionMenu>
        )}
      </Header>
      {kept && (
        <p role="note" className="meta border-b border-line px-4 py-1.5 md:px-6">
          You are offline. This is the chat as you last read it here.
        </p>
      )}
      {session?.origin === 'temporary' && <Passing />}
      {finding && <Find sessionId={id} onFound={setFound} onClose={closeFind} />}
      {phase === 'failed' && fault ? (
        <div className="flex-1 px-4 py-6 md:px-6">
          <div className="mx-auto max-w-[760px]">
            {fault.code === 'not_found' || fault.code === 'invalid_request' ? (
              <Empty>
                There is no such chat.{' '}
                <Link to="/chat" className="text-accent underline underline-offset-3">
                  Start a new one
                </Link>
              </Empty>
            ) : (
              <ErrorLine fault={fault} action={{ label: 'Retry', run: () => void loadConversation(id) }} />
            )}
          </div>
        </div>
      ) : phase === 'ready' || begun ? (
        <div className="flex min-h-0 flex-1 flex-col">
          <Conversation key={id} sessionId={id} turn={turn} found={found} density={isToRead ? 'ephemeral' : 'page'} />
        </div>
      ) : (
        <Skeleton />
      )}
      <Bottom>
        {isToRead ? (
          <PutAway persona={session.agent} />
        ) : (
          <Composer
            key={id}
            draftKey={id}
            sessionId={id}
            agent={agent ?? session?.agent}
            onAgent={setAgent}
            onSend={send}
          />
        )}
      </Bottom>
    </>
  );
}

/** Explains in a temporary chat that it is temporary. */
function Passing() {
  return (
    <p
      role="note"
      className="flex items-center gap-2 border-b border-line bg-sunken px-4 py-2 text-meta text-dim md:px-6"
    >
      <Hourglass size={14} className="shrink-0" aria-hidden />
      <span>
        Temporary chat. It is not listed, searched or remembered, and is deleted 24 hours after its last message.
      </span>
    </p>
  );
}

/** A link to the page, task, ref or project that the chat is about. */
function About({ entity }: { entity: EntityRef }) {
  const place = placeOf(entity);
  const { data } = useLoaded(`${entity.space}/${place}/${entity.id}`, () =>
    onyx.spaces.entity(entity.space, place, entity.id),
  );
  return (
    <Link
      to="/spaces/$space/$place/$entity"
      params={{ space: entity.space, place, entity: entity.id }}
      className="chip max-w-60 min-w-0"
      title={`About this ${entity.kind}`}
    >
      <span className="truncate">{data?.title ?? entity.id}</span>
    </Link>
  );
}

/** Shown under an archived editor conversation, which can only be read; the current one is in the persona's tab. */
function PutAway({ persona }: { persona: string }) {
  const name = useStore((state) => state.status?.agents.find((agent) => agent.id === persona)?.name);
  return (
    <p className="meta mx-auto flex min-h-11 max-w-[760px] flex-wrap items-center gap-x-3 border-t border-line pt-3">
      <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
        An archived conversation with the editor of {name ?? persona}.
      </span>
      {name !== undefined && (
        <Link
          to="/agents/$id/$tab"
          params={{ id: persona, tab: 'persona' }}
          className="inline-flex items-center text-accent underline underline-offset-3 max-md:min-h-11"
        >
          Open the editor
        </Link>
      )}
    </p>
  );
}

const hasWords = ({ conversations, pending }: State, id: string) =>
  (conversations[id]?.turns.length ?? 0) > 0 ||
  (conversations[id]?.live?.answers.length ?? 0) > 0 ||
  pending.some((item) => item.sessionId === id);

function Several({ agents }: { agents: string[] }) {
  const known = useStore((state) => state.status?.agents);
  const names = agents.map((id) => known?.find((agent) => agent.id === id)?.name ?? id);
  return (
    <span className="chip hidden sm:inline-flex" title={`${names.join(', ')} answer`}>
      <Users size={14} aria-hidden /> {names.join(', ')}
    </span>
  );
}

/** The agent that the person pinned for new chats. The agent used last does not count as pinned. */
const PINNED_AGENT = 'onyx.agent.pinned';

interface NewChat {
  shared?: string;
  sharedFiles?: boolean;
  about?: EntityRef;
}

export function NewChatPage({ shared, sharedFiles = false, about }: NewChat) {
  const navigate = useNavigate();
  const files = useSharedFiles(sharedFiles);
  const [pinned, setPinned] = useState(() => readStored<string | undefined>(PINNED_AGENT, undefined));
  const [agent, setAgent] = useState(pinned);
  const [temporary, setTemporary] = useState(false);
  const agents = useStore((state) => state.status?.agents);
  const waiting = useMessages(undefined);
  useOpensWhenSent();
  const known = agents?.some((candidate) => candidate.id === agent) ? agent : undefined;

  const send = async (content: UserContent, model?: string) => {
    const id = await say({ content, agent: known, model, temporary: temporary || undefined });
    if (id && about) await attach(id, about);
    if (id && location.pathname === '/chat') await navigate({ to: '/chat/$id', params: { id }, replace: true });
  };
  return (
    <>
      <Header title="New chat">
        {about ? (
          <About entity={about} />
        ) : (
          <button
            type="button"
            className={`chip ${temporary ? 'text-accent' : ''}`}
            aria-pressed={temporary}
            title="A chat that is not listed, searched or remembered"
            onClick={() => setTemporary(!temporary)}
          >
            <Hourglass size={14} aria-hidden /> Temporary
          </button>
        )}
      </Header>
      {temporary && <Passing />}
      {waiting.length > 0 ? (
        <Conversation />
      ) : (
        <div className="flex flex-1 flex-col items-center justify-center-safe overflow-y-auto px-6 py-6 text-center">
          <i className="mb-5 block size-7 shrink-0 rotate-45 rounded-[8px] bg-text" aria-hidden />
          <h2 className="text-title font-semibold">What can I help with?</h2>
          <p className="meta mt-1 max-w-90">
            Your agent reads and writes in your own files, and asks before anything that deletes or overwrites.
          </p>
          {shared === undefined && files === undefined && <Suggestions />}
          {(shared !== undefined || files !== undefined) && (
            <Suspense fallback={null}>
              <KeepShared words={shared} files={files} />
            </Suspense>
          )}
          <FirstRun />
          <TourOffer />
        </div>
      )}
      <Bottom>
        <Composer
          key={shared ?? 'new'}
          draftKey={seeded(shared)}
          files={files}
          agent={known}
          onAgent={setAgent}
          pinnedAgent={pinned}
          onPinAgent={(id) => (setPinned(id), writeStored(PINNED_AGENT, id))}
          onSend={(content, model) => void send(content, model)}
        />
      </Bottom>
    </>
  );
}

/** Opens the chat of a message that was written here offline, as soon as the message has a session. */
function useOpensWhenSent(): void {
  const navigate = useNavigate();
  const pending = useStore((state) => state.pending);
  const waited = useRef(new Set<string>());
  useEffect(() => {
    for (const { key, sessionId, state } of pending)
      if (sessionId === undefined && state === 'waiting') waited.current.add(key);
    const sent = pending.findLast(({ key, sessionId }) => sessionId !== undefined && waited.current.has(key));
    if (sent?.sessionId) void navigate({ to: '/chat/$id', params: { id: sent.sessionId }, replace: true });
  }, [pending, navigate]);
}

/** Text shared from another app is put into the composer; the person sends it. */
function seeded(shared?: string): string {
  if (!shared) return 'new';
  writeStored('onyx.draft.shared', shared);
  return 'shared';
}

function Bottom({ children }: { children: React.ReactNode }) {
  return <div className="shrink-0 px-3 pb-3 md:px-6 md:pb-5">{children}</div>;
}

function Skeleton() {
  return (
    <div className="flex-1 overflow-hidden px-4 py-6 md:px-6" aria-busy="true" aria-label="Loading">
      <div className="mx-auto flex max-w-[760px] flex-col gap-5">
        <div className="skeleton ml-auto h-16 w-1/2" />
        <div className="skeleton h-32 w-full" />
        <div className="skeleton ml-auto h-12 w-1/3" />
        <div className="skeleton h-48 w-full" />
      </div>
    </div>
  );
}
