import { Outlet } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState } from 'react';
import { AskFirst } from '../pages/actions/AskFirst';
import { SignIn } from '../pages/SignIn';
import { useStore } from '../store/state';
import { BottomBar } from './nav/BottomBar';
import { Nav } from './nav/Nav';
import { OfflineBanner, Toasts } from './Notices';
import { Palette } from './palette/Palette';
import { Shortcuts } from './Shortcuts';
import { useTour } from './tour-offer';
import { useBadge } from './useBadge';
import { useInsideLinks } from './useInsideLinks';
import { useKeys } from './useKeys';

const Tour = lazy(() => import('./Tour'));

/** The frame around every page. */
export function Shell() {
  const [over, setOver] = useState<'palette' | 'shortcuts'>();
  const open = useMemo(() => ({ palette: () => setOver('palette'), shortcuts: () => setOver('shortcuts') }), []);
  useKeys(open);
  useInsideLinks();
  useBadge();
  const touring = useTour(({ step }) => step !== undefined);
  const link = useStore((state) => state.link);
  if (link === 'unauthenticated') return <SignIn />;
  return (
    <div className="flex h-full flex-col">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-2">
        Skip to content
      </a>
      <OfflineBanner />
      <div className="flex min-h-0 flex-1">
        <Nav onPalette={open.palette} />
        <main id="main" tabIndex={-1} className="flex min-w-0 flex-1 flex-col outline-none">
          <Outlet />
        </main>
      </div>
      <BottomBar />
      <Toasts />
      <AskFirst />
      {touring && (
        <Suspense fallback={null}>
          <Tour />
        </Suspense>
      )}
      {over === 'palette' && <Palette onClose={() => setOver(undefined)} onShortcuts={open.shortcuts} />}
      {over === 'shortcuts' && <Shortcuts onClose={() => setOver(undefined)} />}
    </div>
  );
}
