import { keep, readKept } from './store/kept';
import { toast, useStore } from './store/state';

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL: (url: string) => string };
}

const SCRIPT = '/sw.js';

/** The one script address this app makes itself, named where the browser asks for a name. */
function scriptUrl(): string {
  const { trustedTypes } = window as unknown as { trustedTypes?: TrustedTypes };
  if (!trustedTypes) return SCRIPT;
  const policy = trustedTypes.createPolicy('onyx', {
    createScriptURL: (url) => {
      if (url !== SCRIPT) throw new TypeError(`not a script of ours: ${url}`);
      return url;
    },
  });
  return policy.createScriptURL(SCRIPT);
}

interface InstallEvent extends Event {
  prompt: () => Promise<unknown>;
}

const OFFERED = 'onyx.install.offered';

/** Where the browser can install the app it is said once, and never again. */
export function offerInstall(): void {
  addEventListener('beforeinstallprompt', (event) => {
    event.preventDefault();
    if (readKept(OFFERED, false)) return;
    keep(OFFERED, true);
    const install = () => void (event as InstallEvent).prompt();
    toast('Onyx can be installed as an app.', { action: { label: 'Install', run: install } });
  });
}

/** Keeps the app's shell for offline starts; a new version waits until the person reloads. */
export function registerServiceWorker(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  let reloading = false;
  const wasControlled = navigator.serviceWorker.controller !== null;
  navigator.serviceWorker.addEventListener('controllerchange', () => {
    if (!wasControlled || reloading) return;
    reloading = true;
    location.reload();
  });
  const offer = (waiting: ServiceWorker) => useStore.setState({ updateReady: () => waiting.postMessage('update') });
  void navigator.serviceWorker
    .register(scriptUrl())
    .then((registration) => {
      if (registration.waiting && navigator.serviceWorker.controller) offer(registration.waiting);
      registration.addEventListener('updatefound', () => {
        const fresh = registration.installing;
        fresh?.addEventListener('statechange', () => {
          if (fresh.state === 'installed' && navigator.serviceWorker.controller) offer(fresh);
        });
      });
    })
    .catch(() => undefined);
}
