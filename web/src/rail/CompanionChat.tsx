import { useCallback } from 'react';
import { Eye } from 'lucide-react';
import type { Space, UserContent } from '@onyx/sdk';
import { Composer } from '../chat/Composer';
import { Conversation } from '../chat/Conversation';
import { loadConversation } from '../store/client';
import { answerOf, openCompanion, sayToCompanion, useCompanion } from '../store/companion';
import { useStore } from '../store/state';
import { Empty, ErrorLine, Skeletons } from '../ui/page';
import type { Looking } from './Rail';

/** The conversation of the companion, with its composer. */
export function CompanionChat({ space, looking }: { space: Space; looking?: Looking }) {
  const { conversation, agent, phase, fault } = useCompanion(space.id);
  const online = useStore((state) => state.link === 'online');
  if (conversation === undefined) {
    return (
      <div className="flex-1 p-4">
        {phase === 'failed' && fault && (
          <ErrorLine fault={fault} action={{ label: 'Retry', run: () => void openCompanion(space.id) }} />
        )}
        {phase !== 'failed' &&
          (online ? (
            <Skeletons rows={3} height="h-16" />
          ) : (
            <Empty>The companion appears when the connection is back.</Empty>
          ))}
      </div>
    );
  }
  const send = (content: UserContent) => void sayToCompanion(conversation, content, looking?.view);
  return (
    <>
      <Said key={conversation} space={space} conversation={conversation} />
      <div className="shrink-0 px-3 pb-3">
        {looking && (
          <p
            className="mb-1.5 flex items-center gap-1.5 px-1 text-tiny text-dim"
            title="The page you are viewing is sent with your message"
          >
            <Eye size={13} className="shrink-0" aria-hidden />
            <span className="sr-only">The companion sees that you are viewing</span>
            <span className="truncate" dir="auto">
              {looking.title}
            </span>
          </p>
        )}
        <Composer
          key={conversation}
          draftKey={conversation}
          sessionId={conversation}
          agent={agent}
          density="rail"
          placeholder={looking ? `Ask about this ${looking.view.entityType}` : 'Ask about this space'}
          onSend={send}
        />
      </div>
    </>
  );
}

function Said({ space, conversation }: { space: Space; conversation: string }) {
  const phase = useStore((state) => state.conversations[conversation]?.phase);
  const fault = useStore((state) => state.conversations[conversation]?.fault);
  const isEmpty = useStore(({ conversations, pending }) => {
    const known = conversations[conversation];
    return !known?.live && !known?.turns.length && !pending.some((item) => item.sessionId === conversation);
  });
  const agentName = useCompanion(space.id).agentName ?? 'Your agent';
  const again = useCallback((asked: string) => void answerOf(conversation, asked), [conversation]);
  if (phase === 'failed' && fault) {
    return (
      <div className="flex-1 p-4">
        <ErrorLine fault={fault} action={{ label: 'Retry', run: () => void loadConversation(conversation) }} />
      </div>
    );
  }
  if (phase !== 'ready' && isEmpty) {
    return (
      <div className="flex-1 p-4">
        <Skeletons rows={3} height="h-16" />
      </div>
    );
  }
  if (isEmpty) {
    return (
      <div className="flex flex-1 items-center justify-center overflow-y-auto p-6">
        <p className="meta max-w-70 text-center">
          Ask {agentName} about this space. It reads what is in the space and proposes changes for you to decide.
        </p>
      </div>
    );
  }
  return <Conversation sessionId={conversation} density="rail" again={again} />;
}
