// Buttons that copy a text, and those that show what stands behind dots.
import { found, onPart, say, text } from "./page.js";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await copy(button.dataset.copy);
  button.classList.add("done");
  say(text("copied"));
  setTimeout(() => button.classList.remove("done"), 1500);
});

/** The clipboard is closed to pages without HTTPS; a selected field works everywhere. */
async function copy(words) {
  if (navigator.clipboard) return navigator.clipboard.writeText(words);
  const field = document.createElement("textarea");
  field.value = words;
  field.className = "hidden-text";
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-secret-switch], [data-reveal]");
  if (!button) return;
  const shown = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", shown);
  const label = button.getAttribute("aria-label").replace(/^[^:]*/, text(shown ? "hide" : "show"));
  button.setAttribute("aria-label", label);
  button.title = text(shown ? "hide" : "show");
  button.dataset.reveal ? reveal(button.dataset.reveal, shown) : unveil(button.closest("[data-secret]"), shown);
});

function reveal(id, shown) {
  const field = document.getElementById(id);
  field.type = shown ? "text" : "password";
  field.toggleAttribute("data-revealed", shown);
}

function unveil(secret, shown) {
  secret.querySelector("[data-secret-text]").hidden = !shown;
  secret.querySelector("[data-secret-dots]").hidden = shown;
}

onPart((part) => {
  for (const button of found(part, "[data-reveal]")) button.hidden = false;
});

// A revealed password is no password to the browser: hide it before it is sent.
document.addEventListener("submit", (event) => {
  for (const field of found(event.target, "[data-revealed]")) field.type = "password";
});
