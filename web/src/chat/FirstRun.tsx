import { lazy, Suspense, useState } from 'react';
import { onyx } from '../store/client';
import { keep, readKept } from '../store/kept';
import { useStore } from '../store/state';
import { useLoaded } from '../ui/useLoaded';

const Connect = lazy(() => import('../pages/settings/Connect').then((module) => ({ default: module.Connect })));

const DISMISSED = 'onyx.first-run';
/** Who goes to another page with a code may come back to a fresh one here. */
const SIGNING = 'onyx.first-run.signing';

/** A quiet offer while only the small embedded model answers. */
export function FirstRun() {
  const owner = useStore((state) => state.me?.role === 'owner');
  const [dismissed, setDismissed] = useState(() => readKept(DISMISSED, false));
  const [signing] = useState(() => readKept<string | undefined>(SIGNING, undefined));
  const [begun, setBegun] = useState(signing !== undefined);
  const providers = useLoaded(owner && !dismissed ? 'first-run' : undefined, () => onyx.admin.providers());
  const own = providers.data?.filter((provider) => provider.kind !== 'embedded');
  if (!owner || dismissed || !own || (own.length > 0 && !begun)) return null;
  const begin = (name?: string) => {
    keep(SIGNING, name);
    setBegun(true);
  };
  const dismiss = () => {
    keep(DISMISSED, true);
    keep(SIGNING, undefined);
    setDismissed(true);
  };
  return (
    <Suspense fallback={null}>
      {/* A provider that was removed meanwhile is nothing to sign in to. */}
      <Connect
        signing={own.some(({ name }) => name === signing) ? signing : undefined}
        onBegin={begin}
        onDone={dismiss}
      />
    </Suspense>
  );
}
