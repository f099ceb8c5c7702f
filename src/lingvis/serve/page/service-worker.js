// Keeps the page's own files for times without the server. Nothing of the collection is ever kept: answers, pictures and
// the token pass by. The server puts VERSION and FILES before this text.

/* global VERSION, FILES */
const NAME = `lingvis-${VERSION}`;
const home = new URL("./", self.location);
const own = new Set(FILES.map((file) => new URL(file, home).href));

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll([...own])));
  self.skipWaiting();
});

self.addEventListener("activate", (event) => {
  const forget = async () => {
    const names = (await caches.keys()).filter((name) => name.startsWith("lingvis-") && name !== NAME);
    await Promise.all(names.map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(forget());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  const page = request.mode === "navigate" && url.origin === home.origin && url.pathname === home.pathname;
  url.search = url.hash = "";
  if (request.method !== "GET" || !(page || own.has(url.href))) return;
  // The server's file comes first, so that an upgrade is seen at once.
  event.respondWith(fetch(request).catch(async () => (await caches.match(page ? home.href : url.href)) ?? Response.error()));
});
