import { useState, type ReactNode } from 'react';
import { Archive, ArchiveRestore, Download, Pencil, Pin, PinOff, Tag, Trash2, Unlink, Users } from 'lucide-react';
import type { Session } from '@onyx/sdk';
import { attach, exportSession, remove, rename, setArchived, setPinned, setTags } from '../store/actions';
import { useStore } from '../store/state';
import { Menu } from '../ui/Menu';
import { Ask, Confirm } from '../ui/Modal';
import { Answering } from './Answering';
import { Tags } from './Tags';

const SIZE = 15;

/** The menu of a chat, in lists and on its page. */
export function SessionMenu({
  session,
  label,
  onDeleted,
  children,
}: {
  session: Session;
  label: string;
  onDeleted?: () => void;
  children: ReactNode;
}) {
  const [asking, setAsking] = useState<'name' | 'delete' | 'agents' | 'tags'>();
  const name = (title?: string) => {
    setAsking(undefined);
    if (title) void rename(session.id, title);
  };
  const answer = async (yes: boolean) => {
    setAsking(undefined);
    if (yes && (await remove(session.id))) onDeleted?.();
  };
  const { id, pinned } = session;
  const archived = session.status === 'archived';
  const isToRead = session.origin === 'agent_editor';
  // A temporary chat is in no list, so it can be neither pinned nor tagged.
  const isTemporary = session.origin === 'temporary';
  const several = useStore((state) => (state.status?.agents.length ?? 0) > 1) && !isToRead;
  const sort = (tags?: string[]) => {
    setAsking(undefined);
    if (tags) void setTags(id, tags);
  };
  const entries = [
    ...(isTemporary
      ? []
      : [
          {
            label: pinned ? 'Unpin' : 'Pin',
            icon: pinned ? <PinOff size={SIZE} aria-hidden /> : <Pin size={SIZE} aria-hidden />,
            run: () => void setPinned(id, !pinned),
          },
          { label: 'Tags', icon: <Tag size={SIZE} aria-hidden />, run: () => setAsking('tags') },
        ]),
    ...(session.attached
      ? [
          {
            label: `Detach from this ${session.attached.kind}`,
            icon: <Unlink size={SIZE} aria-hidden />,
            run: () => void attach(id, null),
          },
        ]
      : []),
    { label: 'Rename', icon: <Pencil size={SIZE} aria-hidden />, run: () => setAsking('name') },
    ...(several
      ? [{ label: 'Who answers', icon: <Users size={SIZE} aria-hidden />, run: () => setAsking('agents') }]
      : []),
    ...(isToRead || isTemporary
      ? []
      : [
          {
            label: archived ? 'Unarchive' : 'Archive',
            icon: archived ? <ArchiveRestore size={SIZE} aria-hidden /> : <Archive size={SIZE} aria-hidden />,
            run: () => void setArchived(id, !archived),
          },
        ]),
    ...(
      [
        ['Export as Markdown', 'markdown'],
        ['Export as HTML', 'html'],
        ['Export as JSON lines', 'jsonl'],
      ] as const
    ).map(([title, format]) => ({
      label: title,
      icon: <Download size={SIZE} aria-hidden />,
      run: () => void exportSession(session, format),
    })),
    {
      label: 'Delete',
      icon: <Trash2 size={SIZE} aria-hidden />,
      tone: 'danger' as const,
      run: () => setAsking('delete'),
    },
  ];
  return (
    <>
      <Menu label={label} className="icon-btn" entries={entries}>
        {children}
      </Menu>
      {asking === 'name' && (
        <Ask label="Name of this chat" value={session.title ?? ''} action="Rename" onAnswer={name} />
      )}
      {asking === 'tags' && <Tags label="Tags of this chat" action="Save" given={session.tags ?? []} onAnswer={sort} />}
      {asking === 'agents' && <Answering session={session} close={() => setAsking(undefined)} />}
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
