// Tabs that are wider than the window: the present one is moved into sight, and edges that hide others are marked.
import { found, onPart } from "./page.js";

function mark(tabs) {
  const hidden = tabs.scrollWidth - tabs.clientWidth;
  const more = [tabs.scrollLeft > 1 && "before", tabs.scrollLeft < hidden - 1 && "behind"].filter(Boolean).join(" ");
  if (more) tabs.dataset.more = more;
  else delete tabs.dataset.more;
}

onPart((part) => {
  for (const tabs of found(part, ".tabs")) {
    const tab = tabs.querySelector("[aria-current]");
    const beyond = tab ? tab.getBoundingClientRect().right - tabs.getBoundingClientRect().right : 0;
    if (beyond > 0) tabs.scrollLeft += beyond + parseFloat(getComputedStyle(tabs).paddingInlineEnd);
    mark(tabs);
    tabs.addEventListener("scroll", () => mark(tabs), { passive: true });
  }
});

addEventListener("resize", () => document.querySelectorAll(".tabs").forEach(mark));
