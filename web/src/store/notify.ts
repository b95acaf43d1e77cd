// What happens while nobody looks, told by the system if the person wants it.

import { titleOf } from '../shell/links';
import { visible } from '../ui/visible';
import { usePreferences } from './preferences';
import { toast, useStore, type State } from './state';

interface Notice {
  title: string;
  body: string;
  /** A newer notice about the same replaces the older one. */
  tag: string;
  path: string;
}

const ICON = '/icon-192.png';

/** Asks the browser; only a person's click may lead here. */
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
  // Phones take notices from the service worker only; it also opens the app where none is open.
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

/** An answer is over that nobody saw end. */
export function tellEnded(id: string): void {
  if (isWanted())
    void tell({ title: nameOf(useStore.getState(), id), body: 'The answer is here.', tag: id, path: `/chat/${id}` });
}

/** A job says something: by the system while nobody looks, else here. */
export function tellJob(message: string): void {
  if (isWanted()) void tell({ title: 'Jobs', body: message, tag: 'jobs', path: '/jobs' });
  else toast(message);
}

/** From now on: what waits for a decision and did not before. */
export function startNotifying(): void {
  useStore.subscribe((state, before) => {
    // The first list is what waited before one came.
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
