// Dialogs and menus: opening and closing where the browser does not do it by itself, errors in the first line of sight,
// and buttons that must not be pressed twice.
import { found, onPart, text } from "./page.js";

const NATIVE = "commandForElement" in HTMLButtonElement.prototype;

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[commandfor]");
  if (button && !NATIVE) {
    const dialog = document.getElementById(button.getAttribute("commandfor"));
    button.getAttribute("command") === "close" ? dialog.close() : dialog.showModal();
  }
  event.target.closest("[data-close]")?.closest("dialog").close();
  if (event.target.matches("dialog")) closeByVeil(event);
  for (const menu of document.querySelectorAll("[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

/** A click beside an open dialog closes it, unless something was typed into it. */
function closeByVeil(event) {
  const box = event.target.getBoundingClientRect();
  const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
  const typed = [...event.target.querySelectorAll("input, textarea")].some((field) => field.value !== field.defaultValue);
  if (!inside && !typed) event.target.close();
}

document.addEventListener("keydown", (event) => {
  const menu = event.target.closest?.("[data-menu][open]");
  if (!menu) return;
  if (event.key === "Escape") {
    menu.open = false;
    menu.querySelector("summary").focus();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !event.target.matches("input, select, textarea")) {
    step(menu, event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
  }
});

function step(menu, by) {
  const items = [...menu.querySelectorAll("summary, .menu-item")];
  items[(items.indexOf(document.activeElement) + by + items.length) % items.length].focus();
}

// A menu that would leave the window hangs from its other side.
document.addEventListener(
  "toggle",
  (event) => {
    const menu = event.target;
    if (!menu.matches("[data-menu][open]")) return;
    const box = menu.querySelector(".menu-items").getBoundingClientRect();
    if (box.right > document.documentElement.clientWidth) menu.classList.add("end");
    if (box.left < 0) menu.classList.remove("end");
  },
  true,
);

onPart((part) => {
  found(part, "[data-refused]")[0]?.focus();
});

// What is sent says so at once, and is sent once.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = "true";
  const button = event.submitter;
  if (!button) return;
  button.setAttribute("aria-busy", "true");
  button.setAttribute("aria-description", text("busy"));
});

// Back from another page the form is there as it was left, and may be sent again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    for (const button of form.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
  }
});
