import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { Hourglass } from 'lucide-react';
import type { EntityRef, UserContent } from '@onyx/sdk';
import { attach, say } from '../store/actions';
import { readStored, writeStored } from '../store/browserStorage';
import { useStore } from '../store/state';
import { Suggestions } from '../pages/actions/Suggestions';
import { Header } from '../shell/Header';
import { TourOffer } from '../shell/tour-offer';
import { About, Bottom, TemporaryNote } from './ChatFrame';
import { Composer } from './Composer';
import { Conversation } from './Conversation';
import { FirstRun } from './FirstRun';
import { useSharedFiles } from './shared';
import { useMessages } from './useMessages';

const KeepShared = lazy(() => import('./KeepShared'));

/** The agent that the person pinned for new chats. The agent used last does not count as pinned. */
const PINNED_AGENT = 'onyx.agent.pinned';

interface NewChat {
  shared?: string;
  sharedFiles?: boolean;
  about?: EntityRef;
}

/** The page on which a chat begins. */
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
      {temporary && <TemporaryNote />}
      {waiting.length > 0 ? <Conversation /> : <Greeting shared={shared} files={files} />}
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

/** Shown until the first message: what Onyx is for, suggestions or what was shared, and the first steps. */
function Greeting({ shared, files }: { shared?: string; files?: File[] }) {
  return (
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
