import { useEffect, useMemo, useRef, useState } from 'react';
import { useLocation } from '@tanstack/react-router';
import { MessageSquareText } from 'lucide-react';
import type { UserContent } from '@onyx/sdk';
import { Composer } from '../../../chat/Composer';
import { show } from '../../../store/actions';
import { writeStored } from '../../../store/browserStorage';
import { OUTPUT } from '../../../shell/links';
import { fromTurns } from '../../../store/loggedMessages';
import { textOf } from '../../../store/messages';
import { useStore } from '../../../store/state';
import { openEditorChat, takeBack, tellEditor, useEditorChat } from './editor';
import { OutputPanel } from './OutputPanel';
import { usePanel } from './usePanel';

/** The bar at the bottom: messages to the agent that edits this persona, with its output panel above. */
export function EditorBar({ persona, known }: { persona: string; known?: string | null }) {
  const chat = useEditorChat(persona);
  const { sessionId, refused, broken } = chat;
  const conversation = useStore((state) => (sessionId ? state.conversations[sessionId] : undefined));
  const waits = useStore((state) =>
    Object.values(state.drafts).some((draft) => draft.sessionId === sessionId && draft.state === 'pending'),
  );
  const writing = chat.busy || conversation?.live !== undefined;
  const failed = useMemo(
    () => fromTurns(conversation?.turns ?? []).findLast((message) => message.kind === 'answer')?.error !== undefined,
    [conversation?.turns],
  );
  const fault = refused?.fault ?? broken;
  // A failure of an earlier visit was already shown then.
  const [asked, setAsked] = useState(false);
  const panel = useRef<HTMLElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const [state, tell] = usePanel({
    panel,
    composer: bar,
    writing,
    attention: fault !== undefined || waits || (asked && failed && !writing),
  });
  const draftKey = `persona-${persona}`;
  const [round, setRound] = useState(0);

  const isAskedFor = useLocation({ select: ({ hash }) => hash === OUTPUT });
  useEffect(() => {
    if (isAskedFor) tell({ type: 'show output' });
  }, [isAskedFor, tell]);
  useEffect(() => void openEditorChat(persona, known), [persona, known]);
  useEffect(() => {
    if (!sessionId) return;
    show(sessionId);
    return () => show(undefined);
  }, [sessionId]);
  useEffect(() => {
    if (!refused) return;
    // The composer restarts with the text of the message that was refused.
    writeStored(`onyx.draft.${draftKey}`, refused.words);
    setRound((count) => count + 1);
  }, [refused, draftKey]);

  const send = (content: UserContent) => {
    setAsked(true);
    tell({ type: 'sent' });
    takeBack(persona);
    void tellEditor(persona, textOf(content));
  };
  const said = (conversation?.turns.length ?? 0) > 0 || conversation?.live !== undefined || fault !== undefined;
  return (
    <div ref={bar} className="relative shrink-0 px-3 pb-3 md:px-6 md:pb-5">
      {state.phase !== 'hidden' && (
        <OutputPanel element={panel} panel={state} persona={persona} sessionId={sessionId} fault={fault} tell={tell} />
      )}
      {state.phase === 'hidden' && said && (
        <div className="pointer-events-none absolute inset-x-3 bottom-full mx-auto mb-2 flex max-w-[760px] justify-end md:inset-x-6">
          <button
            type="button"
            className="btn pointer-events-auto shadow-over"
            onClick={() => tell({ type: 'show output' })}
          >
            {state.attention ? (
              <span className="dot bg-warn" role="img" aria-label="Waiting for you" />
            ) : (
              writing && <span className="dot dot-run" role="img" aria-label="Working" />
            )}
            <MessageSquareText size={14} aria-hidden /> Show output
          </button>
        </div>
      )}
      <Composer
        key={`${draftKey} ${round}`}
        draftKey={draftKey}
        sessionId={sessionId}
        density="ephemeral"
        to="the editor"
        placeholder="Tell the editor what to change"
        onSend={send}
      />
    </div>
  );
}
