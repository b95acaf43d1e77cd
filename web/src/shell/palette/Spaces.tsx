import { Command } from 'cmdk';
import { LayoutGrid } from 'lucide-react';
import { useSpaces } from '../../store/spaces';
import { Heading, ITEM } from './item';

/** The person's spaces. */
export function Spaces({ onOpen }: { onOpen: (address: string) => void }) {
  const spaces = useSpaces((state) => state.list) ?? [];
  if (spaces.length === 0) return null;
  return (
    <Command.Group heading={<Heading>Spaces</Heading>}>
      {spaces.map((space) => (
        <Command.Item
          key={space.id}
          value={`${space.name} space ${space.id}`}
          keywords={[space.name]}
          onSelect={() => onOpen(`/spaces/${encodeURIComponent(space.id)}`)}
          className={ITEM}
        >
          <LayoutGrid size={16} className="shrink-0 text-dim" aria-hidden />
          <span className="truncate">{space.name}</span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}
