import type { Session } from '@onyx/sdk';
import { useStore } from '../../store/state';
import { ChatItem } from './ChatItem';

/** How many chats are listed on a low screen. */
const RECENT_LOW = 4;

export function PinnedChats({ pinned }: { pinned: Session[] }) {
  return (
    <div className="flex flex-col gap-0.5 max-xl:hidden">
      {pinned.map((session) => (
        <ChatItem key={session.id} session={session} />
      ))}
    </div>
  );
}

export function RecentChats({ recent }: { recent: Session[] }) {
  const phase = useStore((state) => state.sessionsPhase);
  return (
    <div className="flex flex-col gap-0.5 max-xl:hidden">
      {recent.map((session, index) => (
        // A low screen lists fewer chats, so that the rest of the navigation stays visible.
        <ChatItem
          key={session.id}
          session={session}
          className={index < RECENT_LOW ? '' : '[@media(max-height:900px)]:hidden'}
        />
      ))}
      {phase === 'loading' &&
        recent.length === 0 &&
        [70, 55, 80].map((width) => (
          <div key={width} className="skeleton mx-2 my-2 h-4" style={{ width: `${width}%` }} />
        ))}
      {phase === 'ready' && recent.length === 0 && (
        <p className="px-2 py-1 text-meta text-dim">Your chats appear here.</p>
      )}
    </div>
  );
}
