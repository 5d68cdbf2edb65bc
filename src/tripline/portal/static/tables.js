// Lists by keyboard (j and k or arrows move, Enter opens, x selects), the selection with its bar, the way back from a record
// to its list as it was, and the height of rows.
import { found, isTyping, onPart, say } from "./page.js";

const rows = () => [...document.querySelectorAll("[data-rows] [data-row]")];
const STEPS = { j: 1, k: -1 };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const at = document.querySelector("[data-row].at");
  if (event.key in STEPS) move(at, STEPS[event.key]);
  else if (event.key === "x" && at) at.querySelector("[data-pick]")?.click();
  else if (event.key === "Enter" && at && at.contains(event.target) && event.target.matches("[data-pick]")) open(at);
  else return;
  event.preventDefault();
});

function open(row) {
  row.querySelector("a[href]")?.click();
}

/** The next row gets the focus on its link, so that Enter opens it as any link, and its mark. */
function move(at, by) {
  const all = rows();
  if (!all.length) return;
  const next = all[at ? Math.min(Math.max(all.indexOf(at) + by, 0), all.length - 1) : 0];
  mark(next);
  (next.querySelector("a[href]") ?? next.querySelector("[data-pick]"))?.focus();
  next.scrollIntoView({ block: "nearest" });
}

function mark(row) {
  for (const each of document.querySelectorAll("[data-row].at")) each.classList.remove("at");
  row?.classList.add("at");
}

document.addEventListener("focusin", (event) => mark(event.target.closest?.("[data-row]")));

// ---- Selection ----

onPart((part) => {
  for (const all of found(part, "[data-pick-all]")) {
    all.hidden = false;
    all.nextElementSibling.hidden = true;
  }
  for (const form of document.querySelectorAll("[data-selection]")) count(form);
});

let last = null;

document.addEventListener("click", (event) => {
  if (!event.target.matches("[data-pick]")) return;
  const boxes = [...event.target.closest("[data-rows]").querySelectorAll("[data-pick]")];
  if (event.shiftKey && boxes.includes(last)) {
    const [from, to] = [boxes.indexOf(last), boxes.indexOf(event.target)].sort((a, b) => a - b);
    for (const box of boxes.slice(from, to + 1)) box.checked = event.target.checked;
  }
  last = event.target;
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-pick-all]")) {
    for (const box of event.target.closest("[data-rows]").querySelectorAll("[data-pick]")) box.checked = event.target.checked;
  }
  const form = event.target.closest("[data-selection]");
  if (form) count(form);
});

document.addEventListener("reset", (event) => {
  if (event.target.matches("[data-selection]")) setTimeout(() => count(event.target));
});

function count(form) {
  const boxes = [...form.querySelectorAll("[data-pick]")];
  const picked = boxes.filter((box) => box.checked).length;
  const all = form.querySelector("[data-pick-all]");
  if (all) {
    all.checked = picked > 0 && picked === boxes.length;
    all.indeterminate = picked > 0 && picked < boxes.length;
  }
  const shown = form.querySelector("[data-picked]");
  if (!shown) return;
  if (shown.textContent && Number(shown.textContent) !== picked) say(`${picked} ${shown.nextSibling.textContent.trim()}`);
  shown.textContent = picked;
}

// ---- The way back ----
// Records lead up to their list without its search, filters, order and page, and so do a form that is left and a record
// that is deleted: this tab knows how it showed the list last.

const shownAs = (path) => `list ${document.body.dataset.account ?? ""} ${path}`;

function knowTheWayBack() {
  try {
    if (document.querySelector("[data-list]")) sessionStorage.setItem(shownAs(location.pathname), location.search);
    // A list that cannot be shown like that any more is shown whole again.
    else sessionStorage.removeItem(shownAs(location.pathname));
    const known = (path) => sessionStorage.getItem(shownAs(path)) ?? "";
    for (const link of document.querySelectorAll("a.up[href], a[data-back]")) link.search ||= known(link.pathname);
    for (const field of document.querySelectorAll("input[data-list-of]")) field.value = known(field.dataset.listOf);
  } catch {
    // Not remembered without storage.
  }
}

knowTheWayBack();
document.addEventListener("htmx:pushedIntoHistory", knowTheWayBack);
addEventListener("pageshow", (event) => event.persisted && knowTheWayBack());

// ---- Height of rows ----

const root = document.documentElement;
if (remembered() === "dense") root.dataset.density = "dense";

onPart((part) => {
  for (const button of found(part, "[data-density]:not(html)")) {
    button.hidden = false;
    button.setAttribute("aria-pressed", root.dataset.density === "dense");
  }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-density]");
  if (!button) return;
  const dense = root.dataset.density !== "dense";
  dense ? (root.dataset.density = "dense") : delete root.dataset.density;
  button.setAttribute("aria-pressed", dense);
  try {
    localStorage.setItem("density", dense ? "dense" : "");
  } catch {
    // Not remembered without storage.
  }
});

function remembered() {
  try {
    return localStorage.getItem("density");
  } catch {
    return null;
  }
}
