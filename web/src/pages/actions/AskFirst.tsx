import { lazy, Suspense } from 'react';
import { useRegistry } from '../../store/registry';

const ActionDialog = lazy(() => import('./ActionDialog').then((module) => ({ default: module.ActionDialog })));

/** Wherever an action was chosen, this is where it asks. */
export function AskFirst() {
  const asking = useRegistry((registry) => registry.asking);
  if (!asking) return null;
  return (
    <Suspense>
      <ActionDialog key={`${asking.action.id} ${asking.preview}`} asking={asking} />
    </Suspense>
  );
}
