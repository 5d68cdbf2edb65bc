// What the other modules share: texts of the page, a word for screen readers, and when a part of the page is new.

const texts = document.getElementById("texts").dataset;

/** A text of the page by its name. */
export const text = (name) => texts[name];

/** Have screen readers say it. */
export function say(words) {
  const said = document.getElementById("said");
  said.textContent = "";
  requestAnimationFrame(() => (said.textContent = words));
}

/** Call back with the document now, and with each part that htmx puts in later. */
export function onPart(callback) {
  callback(document);
  document.addEventListener("htmx:load", (event) => {
    if (event.target !== document.body) callback(event.target);
  });
}

/** Every element of a part that matches, the part itself included. */
export function found(part, selector) {
  const inside = [...part.querySelectorAll(selector)];
  return part.matches?.(selector) ? [part, ...inside] : inside;
}

/** Whether keys go into a field, so that they are no command. */
export function isTyping(target) {
  return target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox], [type=radio])");
}
