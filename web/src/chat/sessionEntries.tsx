import { Archive, ArchiveRestore, Download, Pencil, Pin, PinOff, Tag, Trash2, Unlink, Users } from 'lucide-react';
import type { Session } from '@onyx/sdk';
import { attach, exportSession, setArchived, setPinned } from '../store/actions';
import type { MenuEntry } from '../ui/Menu';

const SIZE = 15;

const FORMATS = [
  ['Export as Markdown', 'markdown'],
  ['Export as HTML', 'html'],
  ['Export as JSON lines', 'jsonl'],
] as const;

/** What the menu of a chat asks for in a dialog. */
export type SessionQuestion = 'name' | 'delete' | 'agents' | 'tags';

interface Asks {
  /** Whether there is a choice of agents. */
  several: boolean;
  ask: (question: SessionQuestion) => void;
}

/** What can be done with a chat; less with a temporary one or one that can only be read. */
export function sessionEntries(session: Session, { several, ask }: Asks): MenuEntry[] {
  const isToRead = session.origin === 'agent_editor';
  const isTemporary = session.origin === 'temporary';
  const entries: (MenuEntry | false)[] = [
    // A temporary chat is in no list, so it can be neither pinned nor tagged.
    !isTemporary && pin(session),
    !isTemporary && { label: 'Tags', icon: <Tag size={SIZE} aria-hidden />, run: () => ask('tags') },
    detach(session),
    { label: 'Rename', icon: <Pencil size={SIZE} aria-hidden />, run: () => ask('name') },
    several && !isToRead && { label: 'Who answers', icon: <Users size={SIZE} aria-hidden />, run: () => ask('agents') },
    !isToRead && !isTemporary && archive(session),
    ...FORMATS.map(([label, format]) => ({
      label,
      icon: <Download size={SIZE} aria-hidden />,
      run: () => void exportSession(session, format),
    })),
    { label: 'Delete', icon: <Trash2 size={SIZE} aria-hidden />, tone: 'danger', run: () => ask('delete') },
  ];
  return entries.filter((entry) => entry !== false);
}

function pin({ id, pinned }: Session): MenuEntry {
  return {
    label: pinned ? 'Unpin' : 'Pin',
    icon: pinned ? <PinOff size={SIZE} aria-hidden /> : <Pin size={SIZE} aria-hidden />,
    run: () => void setPinned(id, !pinned),
  };
}

function detach({ id, attached }: Session): MenuEntry | false {
  if (!attached) return false;
  return {
    label: `Detach from this ${attached.kind}`,
    icon: <Unlink size={SIZE} aria-hidden />,
    run: () => void attach(id, null),
  };
}

function archive({ id, status }: Session): MenuEntry {
  const archived = status === 'archived';
  return {
    label: archived ? 'Unarchive' : 'Archive',
    icon: archived ? <ArchiveRestore size={SIZE} aria-hidden /> : <Archive size={SIZE} aria-hidden />,
    run: () => void setArchived(id, !archived),
  };
}
