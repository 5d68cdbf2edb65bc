// Keeps the page for when no server answers, and shows it in place of the browser's own. Nothing else is kept: every other
// request goes to the server. The server puts the version of all files before this text, so that a browser sees a new one.

const KEPT = `tripline-${VERSION}`;
const PAGE = "/offline";

self.addEventListener("install", (event) => {
  event.waitUntil(keep().then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(forget().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  if (event.request.mode === "navigate" && event.request.method === "GET") {
    event.respondWith(fetch(event.request).catch(() => caches.match(PAGE)));
  } else if (new URL(event.request.url).pathname.startsWith("/static/")) {
    event.respondWith(fetch(event.request).catch(async () => (await caches.match(event.request)) ?? Response.error()));
  }
});

// The page and what it loads.
async function keep() {
  const page = await fetch(PAGE, { credentials: "omit" });
  const text = await page.clone().text();
  const cache = await caches.open(KEPT);
  await cache.put(PAGE, page);
  await cache.addAll([...new Set(text.match(/\/static\/[\w./-]+/g) ?? [])]);
}

async function forget() {
  for (const name of await caches.keys()) {
    if (name !== KEPT) await caches.delete(name);
  }
}
