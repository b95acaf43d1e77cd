import { useEffect, useLayoutEffect, useState } from 'react';
import { Link, Navigate } from '@tanstack/react-router';
import type { Fault, UserContent } from '@onyx/sdk';
import { say, show } from '../store/actions';
import { loadConversation } from '../store/client';
import { spaceOf, useSpaces } from '../store/spaces';
import { useStore, type State } from '../store/state';
import { Empty, ErrorLine } from '../ui/page';
import { COMPANION } from '../rail/useRail';
import { OUTPUT } from '../shell/links';
import { Bottom, TemporaryNote } from './ChatFrame';
import { ChatHeader } from './ChatHeader';
import { Composer } from './Composer';
import { Conversation } from './Conversation';
import { Find } from './Find';

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
  const session = useStore((state) => state.sessions[id]);
  const online = useStore((state) => state.link === 'online');
  const kept = useStore((state) => state.conversations[id]?.kept === true);
  const [finding, setFinding] = useState(false);
  // The agent chosen in place of the session's own, until another one is chosen.
  const [agent, setAgent] = useState<string>();
  const [found, setFound] = useState<number>();

  useEffect(() => {
    show(id);
    return () => show(undefined);
  }, [id]);
  useEffect(() => {
    if (online) void loadConversation(id);
  }, [id, online]);
  useFindKey(() => setFinding(true));

  const closeFind = () => {
    setFinding(false);
    setFound(undefined);
  };
  const send = (content: UserContent, model?: string) => void say({ content, sessionId: id, agent, model });
  const isToRead = session?.origin === 'agent_editor';
  return (
    <>
      <ChatHeader id={id} session={session} onFind={() => setFinding(true)} />
      {kept && (
        <p role="note" className="meta border-b border-line px-4 py-1.5 md:px-6">
          You are offline. This is the chat as you last read it here.
        </p>
      )}
      {session?.origin === 'temporary' && <TemporaryNote />}
      {finding && <Find sessionId={id} onFound={setFound} onClose={closeFind} />}
      <Turns id={id} turn={turn} found={found} isToRead={isToRead} />
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

/** Calls `open` instead of the browser's own search. */
function useFindKey(open: () => void): void {
  useLayoutEffect(() => {
    const onFind = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key === 'f') {
        event.preventDefault();
        open();
      }
    };
    addEventListener('keydown', onFind);
    return () => removeEventListener('keydown', onFind);
  }, []);
}

interface TurnsProps {
  id: string;
  turn?: string;
  found?: number;
  isToRead: boolean;
}

/** The conversation, its outline while it is loading, or why it cannot be shown. */
function Turns({ id, turn, found, isToRead }: TurnsProps) {
  const phase = useStore((state) => state.conversations[id]?.phase);
  const fault = useStore((state) => state.conversations[id]?.fault);
  // Selects only whether there are messages: their content changes with every frame and is read by the conversation.
  const begun = useStore((state) => hasWords(state, id));
  if (phase === 'failed' && fault) return <NotLoaded id={id} fault={fault} />;
  if (phase !== 'ready' && !begun) return <Skeleton />;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Conversation key={id} sessionId={id} turn={turn} found={found} density={isToRead ? 'ephemeral' : 'page'} />
    </div>
  );
}

const hasWords = ({ conversations, pending }: State, id: string) =>
  (conversations[id]?.turns.length ?? 0) > 0 ||
  (conversations[id]?.live?.answers.length ?? 0) > 0 ||
  pending.some((item) => item.sessionId === id);

function NotLoaded({ id, fault }: { id: string; fault: Fault }) {
  return (
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
