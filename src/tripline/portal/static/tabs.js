// Tabs that are wider than the window: the present one is moved into sight.
import { found, onPart } from "./page.js";

onPart((part) => {
  for (const tab of found(part, ".tabs [aria-current]")) {
    const tabs = tab.closest(".tabs");
    const beyond = tab.getBoundingClientRect().right - tabs.getBoundingClientRect().right;
    if (beyond > 0) tabs.scrollLeft += beyond + parseFloat(getComputedStyle(tabs).paddingInlineEnd);
  }
});
