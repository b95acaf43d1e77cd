import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState, type ReactNode } from 'react';
import type { Space } from '@onyx/sdk';
import { Rail, RailButton, type Looking } from '../../rail/Rail';
import { useRail } from '../../rail/useRail';
import { Header } from '../../shell/Header';
import { refreshSpaces, useSpaceList } from '../../store/spaces';
import { useStore } from '../../store/state';
import { Section } from '../../ui/form';
import { Empty, ErrorLine, Skeletons } from '../../ui/page';
import { Tabs } from '../../ui/Tabs';
import { Sources } from '../channels/Sources';
import { Board } from './Board';
import { EntityList } from './EntityList';
import { EntityPage } from './EntityPage';
import { placeNamed, PLACES } from './places';
import { SpaceMenu } from './SpacesPage';

/** The tab with the knowledge sources, which is not one of the places. */
const SOURCES = 'sources';

/** A space: one of its places or one of its entities, with the companion beside it. */
export function SpacePage({ id, place, entity }: { id: string; place: string; entity?: string }) {
  const { list, fault } = useSpaceList();
  const online = useStore((state) => state.link === 'online');
  const space = list?.find((one) => one.id === id);
  if (space) return <Opened key={id} space={space} place={place} entity={entity} />;
  return (
    <>
      <Header title="Space" back="/spaces" />
      <div className="flex-1 overflow-y-auto px-4 py-6 md:px-6">
        <div className="mx-auto max-w-[760px]">
          {list !== undefined ? (
            <Empty>
              There is no such space.{' '}
              <Link to="/spaces" className="text-accent underline underline-offset-3">
                All spaces
              </Link>
            </Empty>
          ) : fault ? (
            <ErrorLine fault={fault} action={{ label: 'Retry', run: () => void refreshSpaces() }} />
          ) : online ? (
            <Skeletons />
          ) : (
            <Empty>Your spaces appear when the connection is back.</Empty>
          )}
        </div>
      </div>
    </>
  );
}

function Opened({ space, place: name, entity }: { space: Space; place: string; entity?: string }) {
  const navigate = useNavigate();
  const { mode, open } = useRail();
  const [title, setTitle] = useState<string>();
  const place = placeNamed(name);
  const kind = place?.kind;
  const looking = useMemo<Looking | undefined>(
    () =>
      kind && entity !== undefined
        ? { view: { entityType: kind, entityId: entity }, title: title ?? entity }
        : undefined,
    [kind, entity, title],
  );
  return (
    <div className="relative flex min-h-0 flex-1">
      {/* Under a sheet the page must not take the focus. */}
      <div className="flex min-w-0 flex-1 flex-col" inert={open && mode === 'sheet'}>
        <Header title={space.name}>
          <div className="min-w-0 max-md:hidden">
            <SpaceTabs space={space} />
          </div>
          <SpaceMenu space={space} leave={() => navigate({ to: '/spaces' })} />
          <RailButton space={space} />
        </Header>
        <div className="border-b border-line px-2 md:hidden">
          <SpaceTabs space={space} />
        </div>
        {name === SOURCES ? (
          <Column>
            <Section title="Knowledge sources" detail="What agents can look up in this space.">
              <Sources scope={{ type: 'space', id: space.id }} />
            </Section>
          </Column>
        ) : place === undefined ? (
          <Column>
            <Empty>A space has pages, tasks, refs and projects.</Empty>
          </Column>
        ) : entity !== undefined ? (
          <EntityPage key={`${name}/${entity}`} space={space.id} place={place} id={entity} onTitle={setTitle} />
        ) : place.place === 'tasks' ? (
          <Board space={space.id} />
        ) : (
          <Column>
            <EntityList key={name} space={space.id} place={place} />
          </Column>
        )}
      </div>
      <Rail space={space} looking={looking} />
    </div>
  );
}

function SpaceTabs({ space }: { space: Space }) {
  return (
    <Tabs
      label="In this space"
      exact={false}
      tabs={[...PLACES, { place: SOURCES, title: 'Sources' }].map(({ place, title }) => ({
        to: `/spaces/${encodeURIComponent(space.id)}/${place}`,
        text: title,
      }))}
    />
  );
}

function Column({ children }: { children: ReactNode }) {
  return (
    <div className="flex-1 overflow-y-auto px-4 py-4 md:px-6 md:py-6">
      <div className="mx-auto max-w-[760px]">{children}</div>
    </div>
  );
}
