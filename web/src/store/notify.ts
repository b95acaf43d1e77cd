// System notifications for events while the app is in the background, if the person wants them.

import { titleOf } from '../shell/links';
import { visible } from '../ui/visible';
import { usePreferences } from './preferences';
import { toast, useStore, type State } from './state';

interface Notice {
  title: string;
  body: string;
  /** A newer notification with the same tag replaces the older one. */
  tag: string;
  path: string;
}

const ICON = '/icon-192.png';

/** Asks the browser for permission; must be called from a person's click. */
export async function allowed(): Promise<boolean> {
  return 'Notification' in window && (await Notification.requestPermission()) === 'granted';
}

const isWanted = () =>
  usePreferences.getState().notify &&
  document.hidden &&
  'Notification' in window &&
  Notification.permission === 'granted';

async function tell({ title: words, body, tag, path }: Notice): Promise<void> {
  const title = visible(words);
  const options = { body: visible(body), tag, icon: ICON };
  // Phones show notifications only from the service worker, which also opens the app if it is closed.
  const worker = await navigator.serviceWorker?.getRegistration().catch(() => undefined);
  if (worker?.active) return worker.showNotification(title, { ...options, data: path });
  const notice = new Notification(title, options);
  notice.onclick = () => {
    window.focus();
    open(path);
  };
}

function open(path: string): void {
  history.pushState(null, '', path);
  dispatchEvent(new PopStateEvent('popstate'));
}

const nameOf = ({ sessions }: State, id: string | undefined) => {
  const session = id === undefined ? undefined : sessions[id];
  return session ? titleOf(session) : 'Onyx';
};

/** Notifies about an answer that ended unseen. */
export function tellEnded(id: string): void {
  if (isWanted())
    void tell({ title: nameOf(useStore.getState(), id), body: 'The answer is ready.', tag: id, path: `/chat/${id}` });
}

/** Shows a job's message: as a notification in the background, otherwise as a toast. */
export function tellJob(message: string): void {
  if (isWanted()) void tell({ title: 'Jobs', body: message, tag: 'jobs', path: '/jobs' });
  else toast(message);
}

/** Watches for new drafts that wait for a decision. */
export function startNotifying(): void {
  useStore.subscribe((state, before) => {
    // The first list holds the drafts that were already waiting.
    if (state.drafts === before.drafts || before.draftsPhase !== 'ready' || !isWanted()) return;
    for (const draft of Object.values(state.drafts)) {
      if (draft.state !== 'pending' || before.drafts[draft.id]) continue;
      void tell({
        title: nameOf(state, draft.sessionId),
        body: `Waiting for you: ${draft.summary}`,
        tag: draft.id,
        path: '/inbox',
      });
    }
  });
  navigator.serviceWorker?.addEventListener('message', ({ data }: MessageEvent<{ open?: string }>) => {
    if (typeof data?.open === 'string') open(data.open);
  });
}
