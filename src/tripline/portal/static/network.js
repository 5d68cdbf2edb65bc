// The network: a notice while it is away, what htmx sends with its requests.

const notice = document.getElementById("offline");
const token = document.querySelector("meta[name=csrf-token]").content;

function show(away) {
  notice.hidden = !away;
  document.body.classList.toggle("is-offline", away);
}

addEventListener("offline", () => show(true));
addEventListener("online", () => show(false));
if (!navigator.onLine) show(true);

document.addEventListener("htmx:configRequest", (event) => {
  if (token) event.detail.headers["X-CSRF-Token"] = token;
  // What a page asks by itself keeps nobody signed in.
  if (event.detail.elt.matches("[data-polls]")) event.detail.headers["X-Poll"] = "1";
});

// What renews itself goes on when the server is back: without an answer the part stays as it is and asks again.
for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, (event) => {
    show(true);
    const part = event.detail.elt;
    if (part.getAttribute("hx-trigger")?.startsWith("load")) setTimeout(() => window.htmx.trigger(part, "load"), 5000);
  });
}
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.xhr.status !== 0) show(false);
});

// A full page sent without network would end in the browser's own error page: stay, and say so.
document.addEventListener(
  "submit",
  (event) => {
    if (navigator.onLine) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    show(true);
  },
  true,
);

// Keeps the page for when no server answers. Without HTTPS browsers allow this on the server's own machine alone.
if (window.isSecureContext) navigator.serviceWorker?.register("/service-worker.js").catch(() => {});
