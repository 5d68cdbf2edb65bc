// Renews "3 min ago" while a page stays open.
import { text } from "./page.js";

const STEPS = [
  [60, "second"],
  [3600, "minute", 60],
  [86400, "hour", 3600],
  [Infinity, "day", 86400],
];
const format = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "always", style: "short" });

function words(elapsed) {
  const away = Math.abs(elapsed);
  if (away < 60) return text("now");
  const [, unit, seconds] = STEPS.find(([below]) => away < below);
  return format.format(-Math.sign(elapsed) * Math.floor(away / seconds), unit).replaceAll(".", "");
}

function renew() {
  for (const time of document.querySelectorAll("time.ago")) {
    const shown = time.querySelector("[data-ago]");
    const elapsed = (Date.now() - Date.parse(time.dateTime)) / 1000;
    if (shown && Math.abs(elapsed) < 86400) shown.textContent = words(elapsed);
  }
}

// Machines' clocks differ from the server's: its words stand for the first minute.
setInterval(() => document.visibilityState === "visible" && renew(), 60000);
