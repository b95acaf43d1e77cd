import { useState, type ReactNode } from 'react';
import type { Session } from '@onyx/sdk';
import { remove, rename, setTags } from '../store/actions';
import { useStore } from '../store/state';
import { Menu } from '../ui/Menu';
import { Ask, Confirm } from '../ui/Modal';
import { Answering } from './Answering';
import { sessionEntries, type SessionQuestion } from './sessionEntries';
import { Tags } from './Tags';

interface SessionMenuProps {
  session: Session;
  label: string;
  onDeleted?: () => void;
  children: ReactNode;
}

/** The menu of a chat, in lists and on its page. */
export function SessionMenu({ session, label, onDeleted, children }: SessionMenuProps) {
  const [asking, setAsking] = useState<SessionQuestion>();
  const several = useStore((state) => (state.status?.agents.length ?? 0) > 1);
  const close = () => setAsking(undefined);
  const name = (title?: string) => {
    close();
    if (title) void rename(session.id, title);
  };
  const sort = (tags?: string[]) => {
    close();
    if (tags) void setTags(session.id, tags);
  };
  const answer = async (yes: boolean) => {
    close();
    if (yes && (await remove(session.id))) onDeleted?.();
  };
  return (
    <>
      <Menu label={label} className="icon-btn" entries={sessionEntries(session, { several, ask: setAsking })}>
        {children}
      </Menu>
      {asking === 'name' && (
        <Ask label="Name of this chat" value={session.title ?? ''} action="Rename" onAnswer={name} />
      )}
      {asking === 'tags' && <Tags label="Tags of this chat" action="Save" given={session.tags ?? []} onAnswer={sort} />}
      {asking === 'agents' && <Answering session={session} close={close} />}
      {asking === 'delete' && (
        <Confirm
          question="Delete this chat?"
          detail="This deletes the chat permanently. Archive it instead to keep it."
          action="Delete"
          onAnswer={(yes) => void answer(yes)}
        />
      )}
    </>
  );
}
