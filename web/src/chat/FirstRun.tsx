import { lazy, Suspense, useState } from 'react';
import { onyx } from '../store/client';
import { writeStored, readStored } from '../store/browserStorage';
import { useStore } from '../store/state';
import { useLoaded } from '../ui/useLoaded';

const Connect = lazy(() => import('../pages/settings/Connect').then((module) => ({ default: module.Connect })));

const DISMISSED = 'onyx.first-run';
/** Remembers a sign-in in progress, because the person may return to a reloaded page. */
const SIGNING = 'onyx.first-run.signing';

/** Offers to connect a model while only the small embedded model answers. */
export function FirstRun() {
  const owner = useStore((state) => state.me?.role === 'owner');
  const [dismissed, setDismissed] = useState(() => readStored(DISMISSED, false));
  const [signing] = useState(() => readStored<string | undefined>(SIGNING, undefined));
  const [begun, setBegun] = useState(signing !== undefined);
  const providers = useLoaded(owner && !dismissed ? 'first-run' : undefined, () => onyx.admin.providers());
  const own = providers.data?.filter((provider) => provider.kind !== 'embedded');
  if (!owner || dismissed || !own || (own.length > 0 && !begun)) return null;
  const begin = (name?: string) => {
    writeStored(SIGNING, name);
    setBegun(true);
  };
  const dismiss = () => {
    writeStored(DISMISSED, true);
    writeStored(SIGNING, undefined);
    setDismissed(true);
  };
  return (
    <Suspense fallback={null}>
      {/* The provider may have been removed in the meantime. */}
      <Connect
        signing={own.some(({ name }) => name === signing) ? signing : undefined}
        onBegin={begin}
        onDone={dismiss}
      />
    </Suspense>
  );
}
