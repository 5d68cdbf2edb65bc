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

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.closest("table[data-mending]")) return;
  event.preventDefault();
  mend(form, event.submitter);
});

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (event.target.matches("table[data-mending] input[name^=cell-]") && form) mend(form, null);
});

async function mend(form, submitter) {
  if (form.dataset.underWay) return;
  form.dataset.underWay = "yes";
  const row = form.closest("tr");
  const held = document.activeElement?.name;
  const isHeld = row.contains(document.activeElement);
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      body: new FormData(form, submitter),
      headers: { "HX-Request": "true" },
    });
    if (!answer.ok) throw new Error(answer.statusText);
    take(await answer.text(), row, isHeld ? held : null);
  } catch {
    // The plain way tells what is wrong.
    delete form.dataset.underWay;
    if (submitter?.name) form.append(hidden(submitter));
    form.submit();
  }
}

function hidden({ name, value }) {
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name, value });
  return field;
}

/** Put the row in its place, with the numbers of the draft; keep the focus where it was, or move it to the next mistake. */
function take(text, row, held) {
  const answer = new DOMParser().parseFromString(text, "text/html");
  const mended = answer.getElementById(row.id);
  document.getElementById("counts").replaceWith(answer.getElementById("counts"));
  row.replaceWith(mended);
  const wrong = mended.querySelector("[aria-invalid]");
  if (!wrong) mended.classList.add("kept");
  const told = mended.querySelector(".field-error, .badge");
  if (told) say(told.textContent);
  if (held !== null) {
    const next = wrong ?? following(mended)?.querySelector("[aria-invalid]") ?? mended.querySelector("button, a");
    (mended.querySelector(`[name="${held}"]`) ?? next)?.focus();
  }
}

function following(row) {
  let next = row.nextElementSibling;
  while (next && !next.querySelector("[aria-invalid]")) next = next.nextElementSibling;
  return next;
}
