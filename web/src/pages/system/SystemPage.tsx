import { lazy, Suspense, type ComponentType } from 'react';
import { useStore } from '../../store/state';
import { Page, Skeletons } from '../../ui/page';
import { Tabs } from '../../ui/Tabs';
import { Health } from './Health';

const BODIES: Record<string, ComponentType> = {
  health: Health,
  logs: lazy(() => import('./Logs')),
  usage: lazy(() => import('./Usage')),
  audit: lazy(() => import('./Audit')),
};
const TABS = [
  { to: '/system', text: 'Health' },
  { to: '/system/logs', text: 'Logs' },
  { to: '/system/usage', text: 'Usage' },
  { to: '/system/audit', text: 'Audit' },
];

export function SystemPage({ tab = 'health' }: { tab?: string }) {
  const owner = useStore((state) => state.me?.role !== 'member');
  const Body = BODIES[tab] ?? Health;
  return (
    <Page
      title="System"
      bar={owner && <Tabs label="System" tabs={TABS} />}
      width={tab === 'health' ? 'max-w-[680px]' : 'max-w-[1040px]'}
    >
      <Suspense fallback={<Skeletons />}>
        <Body />
      </Suspense>
    </Page>
  );
}
