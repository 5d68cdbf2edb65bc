// Searching. Keys: `/` goes to the search of the list, or to the quick search where there is none; Ctrl-K to the quick one.
import { isTyping } from "./page.js";

const quick = () => document.querySelector("[data-quick] input");
const ofList = () => document.querySelector("[data-search-here]");

document.addEventListener("keydown", (event) => {
  const command = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
  const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
  const field = command ? (quick() ?? ofList()) : slash ? (ofList() ?? quick()) : null;
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});

// What the quick search found stands below its field while somebody is there; arrows lead through it, Escape closes it.
const panel = () => document.getElementById("quick-found");

function showFound() {
  const field = quick();
  panel().hidden = !(field.value.trim().length >= field.form.dataset.least && panel().firstElementChild);
}

document.addEventListener("focusin", (event) => {
  if (event.target === quick() && panel().hidden) showFound();
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target === panel() && quick().form.contains(document.activeElement)) showFound();
});

document.addEventListener("focusout", (event) => {
  const form = quick()?.form;
  if (form?.contains(event.target) && !form.contains(event.relatedTarget)) panel().hidden = true;
});

document.addEventListener("keydown", (event) => {
  const form = quick()?.form;
  if (!form?.contains(event.target) || panel().hidden) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") {
    quick().focus();
    panel().hidden = true;
  } else if (step) {
    const stops = [quick(), ...panel().querySelectorAll("a")];
    stops.at((stops.indexOf(event.target) + step) % stops.length).focus();
  } else return;
  event.preventDefault();
});
