// Import: a file on its way shows how far it is; a row is mended in place. Without this module both are plain forms.
import { onPart, found, say } from "./page.js";

// ---- A file on its way ----

onPart((part) => {
  for (const form of found(part, "form[data-import]")) form.addEventListener("submit", send);
});

function send(event) {
  const form = event.target;
  const shown = form.querySelector("[data-sending]");
  const bar = shown.querySelector("progress");
  event.preventDefault();
  shown.hidden = false;
  busy(form, true);
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.setRequestHeader("HX-Request", "true");
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    bar.value = (100 * loaded) / total;
    // The rest is the server's: it reads and checks the rows.
    if (loaded === total) bar.removeAttribute("value");
  });
  request.addEventListener("load", () => arrived(request, form));
  request.addEventListener("error", () => plainly(form));
  request.send(new FormData(form));
}

function arrived(request, form) {
  const next = request.getResponseHeader("HX-Redirect") ?? location_in(request.getResponseHeader("HX-Location"));
  if (next) location.assign(next);
  else if (request.status < 500) show(request.responseText);
  else plainly(form);
}

function location_in(header) {
  return header && JSON.parse(header).path;
}

/** What was refused, in place of the page. */
function show(text) {
  const answer = new DOMParser().parseFromString(text, "text/html");
  const content = document.getElementById("content");
  content.replaceChildren(...answer.body.childNodes);
  content.focus();
  htmx.process(content);
  onAnswer(content);
}

function onAnswer(part) {
  part.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true }));
}

/** The way without this module, whose answer is a page. */
function plainly(form) {
  busy(form, false);
  form.removeEventListener("submit", send);
  form.submit();
}

function busy(form, is) {
  for (const button of form.querySelectorAll("button")) {
    button.disabled = is;
    button.setAttribute("aria-busy", is);
  }
}

// ---- Mending rows ----

/** Rows that are being saved, each with its end and with what was asked of it meanwhile. */
const underWay = new Map();

document.addEventListener("submit", (event) => {
  const row = event.target.closest("table[data-mending] tr");
  if (!row) return;
  event.preventDefault();
  mend(row, event.submitter?.name ? event.submitter : null);
});

document.addEventListener("change", (event) => {
  if (event.target.matches("table[data-mending] input[name^=cell-]")) mend(event.target.closest("tr"), null);
});

// A search shows rows as they are stored: it waits for rows that are being saved.
document.addEventListener("submit", async (event) => {
  if (!underWay.size || !event.target.matches("form[role=search]")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const { target, submitter } = event;
  while (underWay.size) await Promise.all([...underWay.values()].map(({ ended }) => ended));
  target.requestSubmit(submitter);
}, true);

/** Save a row, as the pressed button has it; one on its way is saved again once it is back, with what changed since. */
function mend(row, pressed) {
  const asked = underWay.get(row);
  if (asked) {
    asked.again = true;
    asked.pressed = pressed ?? asked.pressed;
    return;
  }
  const meanwhile = { again: false, pressed: null };
  underWay.set(row, meanwhile);
  meanwhile.ended = save(row, pressed, meanwhile);
}

async function save(row, pressed, meanwhile) {
  const form = row.querySelector("form");
  const sent = new FormData(form);
  if (pressed) sent.append(pressed.name, pressed.value);
  let isTyped;
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      body: sent,
      headers: { "HX-Request": "true" },
      keepalive: true, // a link that is followed meanwhile must not end it
    });
    if (!answer.ok) throw new Error(answer.statusText);
    isTyped = take(await answer.text(), row, sent);
  } catch {
    // The plain way tells what is wrong.
    const last = meanwhile.pressed ?? pressed;
    if (last) form.append(hidden(last));
    form.submit();
    return;
  } finally {
    underWay.delete(row);
  }
  if (meanwhile.pressed || (meanwhile.again && isTyped)) mend(row, meanwhile.pressed);
}

function hidden({ name, value }) {
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name, value });
  return field;
}

/**
 * Put the mended row in place of the row, with the numbers of the draft; whether something was typed since it was sent.
 * A cell in which something was typed stays as it is. The focus stays where it was, or moves to the next mistake.
 */
function take(text, row, sent) {
  const answer = new DOMParser().parseFromString(text, "text/html");
  const mended = answer.getElementById(row.id);
  const cells = [...mended.cells];
  const focused = row.contains(document.activeElement) ? document.activeElement : null;
  let isTyped = false;
  document.getElementById("counts").replaceWith(answer.getElementById("counts"));
  for (const [at, cell] of [...row.cells].entries()) {
    const field = fieldIn(cell);
    const stillWrong = fieldIn(cells[at]);
    if (field && field.value !== sent.get(field.name)) isTyped = true;
    else if (field && field === focused && stillWrong) renewBehind(field, stillWrong);
    else cell.replaceWith(cells[at]);
  }
  row.className = mended.className;
  const wrong = row.querySelector("[aria-invalid]");
  if (!wrong) row.classList.add("kept");
  const told = row.querySelector(".field-error, .badge");
  if (told && !isTyped) say(told.textContent);
  if (focused && !row.contains(document.activeElement)) {
    const same = focused.name ? row.querySelector(`[name="${focused.name}"]`) : null;
    const next = wrong ?? following(row)?.querySelector("[aria-invalid]") ?? row.querySelector("button, a");
    (same ?? next)?.focus();
  }
  return isTyped;
}

function fieldIn(cell) {
  return cell.querySelector("input[name^=cell-]");
}

/** Put what stands behind the other field behind this one, which is not moved: it keeps the focus and the caret. */
function renewBehind(field, other) {
  while (field.nextSibling) field.nextSibling.remove();
  while (other.nextSibling) field.parentNode.append(other.nextSibling);
}

function following(row) {
  let next = row.nextElementSibling;
  while (next && !next.querySelector("[aria-invalid]")) next = next.nextElementSibling;
  return next;
}
