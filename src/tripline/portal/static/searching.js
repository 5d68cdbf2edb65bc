// Keys for searching: `/` goes to the search of the list, or to the quick search where there is none; Ctrl-K to the quick one.
import { isTyping } from "./page.js";

const quick = () => document.querySelector("[data-quick] input");
const ofList = () => document.querySelector("[data-search-here]");

document.addEventListener("keydown", (event) => {
  const command = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
  const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
  const field = command ? quick() : slash ? (ofList() ?? quick()) : null;
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});
