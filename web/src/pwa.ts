import { writeStored, readStored } from './store/browserStorage';
import { toast, useStore } from './store/state';

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL: (url: string) => string };
}

const SCRIPT = '/sw.js';

/** The only script address that the app sets itself, allowed by name for Trusted Types. */
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

/** Offers once to install the app, if the browser can. */
export function offerInstall(): void {
  addEventListener('beforeinstallprompt', (event) => {
    event.preventDefault();
    if (readStored(OFFERED, false)) return;
    writeStored(OFFERED, true);
    const install = () => void (event as InstallEvent).prompt();
    toast('Onyx can be installed as an app.', { action: { label: 'Install', run: install } });
  });
}

/** Registers the service worker, which caches the app for offline starts. A new version waits for a reload. */
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
