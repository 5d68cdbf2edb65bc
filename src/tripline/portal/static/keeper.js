// Keeps what is typed into a form with `data-keep` until it is saved, for this tab and this account alone: a session that
// ends, a network that is away or a page left by mistake loses nothing. Never passwords, files or hidden fields.
import { found, onPart } from "./page.js";

const account = document.body.dataset.account ?? "";
const key = (form) => `typed ${account} ${form.dataset.keep}`;
const fields = (form) =>
  [...form.elements].filter((each) => each.name && !each.readOnly && !each.matches("button, fieldset, [type=hidden], [type=password], [type=file], [data-revealed]"));

document.addEventListener("input", (event) => {
  const form = event.target.closest?.("form[data-keep]");
  if (form) store(form, false);
});

document.addEventListener("submit", (event) => {
  if (event.target.matches("form[data-keep]") && !event.defaultPrevented) store(event.target, true);
});

function store(form, sent) {
  const values = fields(form).map((each) => [each.name, each.matches("[type=checkbox], [type=radio]") ? each.checked : each.value]);
  write(key(form), JSON.stringify({ sent, values }));
}

/** Storage may be full or forbidden: then nothing is kept, and the page works. */
function write(name, value) {
  try {
    sessionStorage.setItem(name, value);
  } catch {
    // Nothing to do without storage.
  }
}

onPart((part) => {
  const forms = found(part, "form[data-keep]");
  for (const form of forms) giveBack(form);
  if (part === document && account) forgetWhatIsSaved(forms);
});

function giveBack(form) {
  const kept = JSON.parse(sessionStorage.getItem(key(form)) ?? "null");
  const answered = form.querySelector("[data-refused]");
  if (!kept || answered) return;
  let changed = false;
  const present = fields(form);
  kept.values.forEach(([name, value], index) => {
    const field = present[index];
    if (field?.name === name) changed = put(field, value) || changed;
  });
  if (changed) form.prepend(note(form));
}

function put(field, value) {
  const property = typeof value === "boolean" ? "checked" : "value";
  const differs = field[property] !== value;
  field[property] = value;
  return differs;
}

function note(form) {
  const copy = document.getElementById("kept").content.cloneNode(true);
  const box = copy.firstElementChild;
  copy.querySelector("[data-discard]").addEventListener("click", () => {
    sessionStorage.removeItem(key(form));
    box.remove();
    form.reset();
  });
  return copy;
}

/** A form that was sent and did not come back was saved. */
function forgetWhatIsSaved(present) {
  const here = new Set(present.map(key));
  for (const name of Object.keys(sessionStorage)) {
    if (!name.startsWith(`typed ${account} `) || here.has(name)) continue;
    if (JSON.parse(sessionStorage.getItem(name)).sent) sessionStorage.removeItem(name);
  }
}
