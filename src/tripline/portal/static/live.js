// Parts that renew themselves while the page is seen. None changes while somebody has it in hand; only a new state is said.
import { found, onPart, say } from "./page.js";

document.addEventListener("htmx:beforeRequest", (event) => {
  const part = event.detail.elt;
  if (part.matches("[data-live]") && (document.hidden || isHeld(part))) event.preventDefault();
});

/** Whether text of the part is selected, or the focus is where it could not be given back. */
function isHeld(part) {
  const selection = getSelection();
  const active = document.activeElement;
  return (!selection.isCollapsed && selection.containsNode(part, true)) || (active !== part && part.contains(active) && !active.id);
}

// A server in trouble leaves the part as it is: the next look may find it well.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { elt, xhr } = event.detail;
  if (elt.matches("[data-live]") && xhr.status >= 500) event.detail.shouldSwap = false;
});

const known = new Map();

onPart((part) => {
  for (const live of found(part, "[data-live]")) {
    const now = new Map(found(live, "[data-says]").map((each) => [each.id, each.dataset.says]));
    const was = known.get(live.id);
    known.set(live.id, now);
    const changed = [...now].filter(([id, words]) => was && was.get(id) !== words);
    if (changed.length) say(changed.map(([, words]) => words).join(", "));
  }
});
