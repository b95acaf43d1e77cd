import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { History, MoreHorizontal, Tag, Trash2 } from 'lucide-react';
import type { Entity, EntityChange } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { toast } from '../../store/state';
import { attempt } from '../../ui/act';
import { Menu } from '../../ui/Menu';
import { Ask, Confirm } from '../../ui/Modal';
import type { PlaceOf } from './places';
import { tellChange } from './useEntities';
import { Versions } from './Versions';

interface EntityMenuProps {
  entity: Entity;
  place: PlaceOf;
  set: (fields: EntityChange) => Promise<void>;
  reload: () => void;
}

/** The menu of a page, task, ref or project: its tags, its versions, and its deletion. */
export function EntityMenu({ entity, place, set, reload }: EntityMenuProps) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState<'tags' | 'versions' | 'delete'>();
  const tag = (text?: string) => {
    setAsking(undefined);
    if (text !== undefined)
      void set({
        tags: text
          .split(',')
          .map((one) => one.trim().replace(/^#/, ''))
          .filter(Boolean),
      });
  };
  const remove = async (yes: boolean) => {
    setAsking(undefined);
    if (!yes) return;
    // The page is left first, so that nothing requests the entity while it is deleted.
    await navigate({ to: '/spaces/$space/$place', params: { space: entity.space, place: place.place } });
    const done = await attempt(`“${entity.title}” was not deleted`, () =>
      onyx.spaces.take(entity.space, place.place, entity.id, entity.version).then(() => true),
    );
    if (!done) return;
    tellChange();
    toast(`“${entity.title}” was deleted; its versions are kept`);
  };
  return (
    <>
      <Menu
        label={`More for this ${place.kind}`}
        className="icon-btn"
        entries={[
          { label: 'Tags', icon: <Tag size={15} aria-hidden />, run: () => setAsking('tags') },
          { label: 'Version history', icon: <History size={15} aria-hidden />, run: () => setAsking('versions') },
          { label: 'Delete', icon: <Trash2 size={15} aria-hidden />, tone: 'danger', run: () => setAsking('delete') },
        ]}
      >
        <MoreHorizontal size={18} aria-hidden />
      </Menu>
      {asking === 'tags' && (
        <Ask label="Tags, separated by commas" value={entity.tags.join(', ')} action="Save" onAnswer={tag} />
      )}
      {asking === 'versions' && (
        <Versions path={entity.path} now={entity.body ?? ''} onRestored={reload} onClose={() => setAsking(undefined)} />
      )}
      {asking === 'delete' && (
        <Confirm
          question={`Delete “${entity.title}”?`}
          detail="Its versions are kept and can be restored in Memory."
          action="Delete"
          onAnswer={(yes) => void remove(yes)}
        />
      )}
    </>
  );
}
