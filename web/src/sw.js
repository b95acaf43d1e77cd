// Caches the app's files for offline use. It never answers data requests: chats come from the server
// or not at all. A new version waits until the person reloads.
const version = '__VERSION__';
const files = __FILES__;
const cacheName = `onyx-${version}`;

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches
      .open(cacheName)
      .then((cache) => cache.addAll(['/', ...files].map((file) => new Request(file, { cache: 'reload' })))),
  );
});

self.addEventListener('activate', (event) => {
  const old = caches.keys().then((names) => names.filter((name) => name.startsWith('onyx-') && name !== cacheName));
  event.waitUntil(
    old.then((names) => Promise.all(names.map((name) => caches.delete(name)))).then(() => self.clients.claim()),
  );
});

self.addEventListener('message', (event) => {
  if (event.data === 'update') self.skipWaiting();
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const path = event.notification.data ?? '/';
  event.waitUntil(
    // Includes tabs that this worker does not control, for example after a forced reload.
    self.clients.matchAll({ type: 'window', includeUncontrolled: true }).then((tabs) => {
      // The tab that already shows the page, otherwise the last focused one.
      const tab = tabs.find(({ url }) => new URL(url).pathname === path) ?? tabs[0];
      if (!tab) return self.clients.openWindow(path);
      tab.postMessage({ open: path });
      return tab.focus();
    }),
  );
});

// A separate cache from the app's files, which are deleted with their version.
const sharedName = 'shared-files';
const mostFiles = 10;

/** What another app shares waits in this browser until the person says where it goes. */
async function receive(request) {
  const form = await request.formData();
  const files = form.getAll('files').filter((file) => file instanceof File && file.size > 0);
  await caches.delete(sharedName);
  const cache = await caches.open(sharedName);
  for (const [index, file] of files.slice(0, mostFiles).entries()) {
    const headers = { 'content-type': file.type, 'x-name': encodeURIComponent(file.name) };
    await cache.put(`/shared/${index}`, new Response(file, { headers }));
  }
  const words = new URLSearchParams();
  for (const name of ['title', 'text', 'url']) {
    const value = form.get(name);
    if (typeof value === 'string' && value !== '') words.set(name, value);
  }
  if (files.length > 0) words.set('files', String(Math.min(files.length, mostFiles)));
  return Response.redirect(`/chat?${words}`, 303);
}

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method === 'POST' && url.origin === self.location.origin && url.pathname === '/share') {
    event.respondWith(receive(request));
    return;
  }
  if (request.method !== 'GET' || url.origin !== self.location.origin) return;
  if (request.mode === 'navigate') {
    // Only the app's own pages are answered from the cache, not the server's.
    if (/^\/(api|v1|auth|docs|manual|ws|mcp|health|ready|metrics|openapi)/.test(url.pathname)) return;
    // The newest HTML if the server answers, otherwise the cached one.
    event.respondWith(fetch(request).catch(() => caches.match('/', { cacheName })));
  } else if (url.pathname.startsWith('/assets/')) {
    event.respondWith(caches.match(request, { cacheName }).then((kept) => kept ?? fetch(request)));
  }
});
