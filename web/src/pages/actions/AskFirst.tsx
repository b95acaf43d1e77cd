import { lazy, Suspense } from 'react';
import { useRegistry } from '../../store/registry';

const ActionDialog = lazy(() => import('./ActionDialog').then((module) => ({ default: module.ActionDialog })));

/** Shows the dialog of the action that waits for confirmation, on any page. */
export function AskFirst() {
  const asking = useRegistry((registry) => registry.asking);
  if (!asking) return null;
  return (
    <Suspense>
      <ActionDialog key={`${asking.action.id} ${asking.preview}`} asking={asking} />
    </Suspense>
  );
}
