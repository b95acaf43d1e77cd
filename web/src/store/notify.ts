import { titleOf } from '../shell/links';
import { usePreferences } from './preferences';
import { useStore } from './state';

/** Tells of answers that end while nobody looks, if the person wants it. */
export function startNotifying(): void {
  useStore.subscribe((state, before) => {
    if (state.unread === before.unread || !usePreferences.getState().notify || !document.hidden) return;
    for (const id of Object.keys(state.unread)) {
      const session = state.sessions[id];
      if (before.unread[id] || !session) continue;
      const notice = new Notification(titleOf(session), { body: 'The answer is here.', tag: id, icon: '/icon-192.png' });
      notice.onclick = () => {
        window.focus();
        history.pushState(null, '', `/chat/${id}`);
        dispatchEvent(new PopStateEvent('popstate'));
      };
    }
  });
}
