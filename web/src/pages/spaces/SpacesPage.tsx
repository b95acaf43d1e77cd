import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { MoreHorizontal, Pencil, Plus, Shield, Trash2 } from 'lucide-react';
import type { Space } from '@onyx/sdk';
import { onyx } from '../../store/client';
import { refreshSpaces, useSpaceList } from '../../store/spaces';
import { useStore } from '../../store/state';
import { attempt } from '../../ui/act';
import { Menu } from '../../ui/Menu';
import { Ask, Confirm } from '../../ui/Modal';
import { Empty, Page, Shown } from '../../ui/page';
import { useBadge } from '../../rail/Rail';
import { ago } from '../../ui/time';

/** The list of spaces. */
export function SpacesPage() {
  const { list, fault } = useSpaceList();
  const navigate = useNavigate();
  const [naming, setNaming] = useState(false);
  const create = async (name?: string) => {
    setNaming(false);
    const made = name && (await attempt('The space was not created', () => onyx.spaces.create({ name })));
    if (!made) return;
    await refreshSpaces();
    await navigate({ to: '/spaces/$space/$place', params: { space: made.id, place: 'pages' } });
  };
  const of = {
    data: list,
    fault,
    loading: list === undefined && fault === undefined,
    reload: () => void refreshSpaces(),
  };
  return (
    <Page
      title="Spaces"
      bar={
        <button type="button" className="btn" onClick={() => setNaming(true)}>
          <Plus size={15} aria-hidden /> New space
        </button>
      }
    >
      <Shown of={of} height="h-16">
        {(spaces) =>
          spaces.length === 0 ? (
            <Empty>
              A space holds the pages, tasks and refs of one thing you work on, and an agent that knows them.{' '}
              <button
                type="button"
                className="text-accent underline underline-offset-3"
                onClick={() => setNaming(true)}
              >
                Create the first one
              </button>
            </Empty>
          ) : (
            <ul className="card divide-y divide-line overflow-hidden" aria-label="Spaces">
              {spaces.map((space) => (
                <Row key={space.id} space={space} />
              ))}
            </ul>
          )
        }
      </Shown>
      {naming && <Ask label="Name of the new space" value="" action="Create" onAnswer={(name) => void create(name)} />}
    </Page>
  );
}

function Row({ space }: { space: Space }) {
  const { drafts, running } = useBadge(space.companion ?? undefined);
  const agent = useStore(
    (state) =>
      state.status?.agents.find((one) => (space.defaultAgent ? one.id === space.defaultAgent : one.default))?.name,
  );
  return (
    <li className="flex items-center gap-1 pr-2 hover:bg-sunken">
      <Link
        to="/spaces/$space/$place"
        params={{ space: space.id, place: 'pages' }}
        className="flex min-w-0 flex-1 items-center gap-3 px-4 py-2.5"
      >
        <span className="min-w-0 flex-1">
          <span className="block truncate" dir="auto">
            {space.name}
          </span>
          <span className="meta block truncate">
            {[agent, space.createdAt && `made ${ago(space.createdAt)}`].filter(Boolean).join(' · ')}
          </span>
        </span>
        {running && <span className="text-tiny text-accent">working</span>}
        {drafts > 0 && (
          <span className="rounded-full bg-warn-soft px-1.5 text-tiny text-warn">
            {drafts} {drafts === 1 ? 'draft' : 'drafts'}
          </span>
        )}
      </Link>
      <SpaceMenu space={space} />
    </li>
  );
}

/** The menu of a space. */
export function SpaceMenu({ space, leave }: { space: Space; leave?: () => Promise<void> }) {
  const [asking, setAsking] = useState<'name' | 'tier' | 'delete'>();
  const acts = space.tier === 'act';
  const setTier = async (yes: boolean) => {
    setAsking(undefined);
    const tier = acts ? 'suggest' : 'act';
    if (yes && (await attempt('The limit was not changed', () => onyx.spaces.update(space.id, { tier }))))
      await refreshSpaces();
  };
  const rename = async (name?: string) => {
    setAsking(undefined);
    if (
      name &&
      name !== space.name &&
      (await attempt('The name was not changed', () => onyx.spaces.update(space.id, { name })))
    )
      await refreshSpaces();
  };
  const remove = async (yes: boolean) => {
    setAsking(undefined);
    if (!yes) return;
    // The space's page is left first, so that nothing requests its contents while it is deleted.
    await leave?.();
    await attempt('The space was not deleted', () => onyx.spaces.remove(space.id));
    await refreshSpaces();
  };
  return (
    <>
      <Menu
        label={`More for ${space.name}`}
        className="icon-btn"
        entries={[
          { label: 'Rename', icon: <Pencil size={15} aria-hidden />, run: () => setAsking('name') },
          {
            label: acts ? 'Let agents only suggest here' : 'Let agents act here',
            icon: <Shield size={15} aria-hidden />,
            run: () => (acts ? void setTier(true) : setAsking('tier')),
          },
          { label: 'Delete', icon: <Trash2 size={15} aria-hidden />, tone: 'danger', run: () => setAsking('delete') },
        ]}
      >
        <MoreHorizontal size={18} aria-hidden />
      </Menu>
      {asking === 'name' && (
        <Ask label="Name of this space" value={space.name} action="Rename" onAnswer={(name) => void rename(name)} />
      )}
      {asking === 'tier' && (
        <Confirm
          question={`Let agents act in ${space.name}?`}
          detail="Agents with tier Act may change files here without asking. Now they only suggest."
          action="Let them act"
          onAnswer={(yes) => void setTier(yes)}
        />
      )}
      {asking === 'delete' && (
        <Confirm
          question={`Delete ${space.name}?`}
          detail="Everything in it is deleted too. File versions are kept in history."
          action="Delete"
          onAnswer={(yes) => void remove(yes)}
        />
      )}
    </>
  );
}
