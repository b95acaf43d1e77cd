import { Command } from 'cmdk';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Session } from '@onyx/sdk';
import { PaletteActions } from '../../pages/actions/PaletteActions';
import { Modal } from '../../ui/Modal';
import { Chats } from './Chats';
import { Commands } from './Commands';
import { score } from './finding';
import { Heading, ITEM } from './item';
import { Spaces } from './Spaces';

/** The command palette: pages, chats, spaces and actions, found by typing. */
export function Palette({ onClose, onShortcuts }: { onClose: () => void; onShortcuts: () => void }) {
  const navigate = useNavigate();
  const [query, setQuery] = useState('');
  const open = (address: string) => {
    onClose();
    void navigate({ to: address });
  };
  const openChat = ({ id, found }: Session) => {
    onClose();
    void navigate({
      to: '/chat/$id',
      params: { id: found?.session ?? id },
      search: { turn: found?.turn ?? undefined },
    });
  };
  return (
    <Modal label="Search or command" onClose={onClose}>
      <Command label="Search or command" loop filter={score}>
        <Command.Input
          data-first-focus
          value={query}
          onValueChange={setQuery}
          placeholder="Search chats or type a command"
          className="h-12 w-full border-b border-line bg-transparent px-4 text-[16px] outline-none placeholder:text-dim md:text-body"
        />
        <Command.List className="max-h-[50vh] overflow-auto p-1.5">
          <Command.Empty className="px-3 py-6 text-center text-meta text-dim">No results.</Command.Empty>
          <Commands onOpen={open} onShortcuts={onShortcuts} onClose={onClose} />
          <Spaces onOpen={open} />
          <PaletteActions heading={<Heading>Actions</Heading>} className={ITEM} onClose={onClose} />
          <Chats query={query} onOpen={openChat} />
        </Command.List>
      </Command>
    </Modal>
  );
}
