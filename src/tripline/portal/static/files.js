// The field of a file: a button in the page's language, the name of what was chosen, and dropping a file onto it. Without
// scripts it is the browser's own.
import { found, onPart, say } from "./page.js";

onPart((part) => {
  for (const area of found(part, "[data-drop]")) {
    const field = area.querySelector("input[type=file]");
    dress(area, field);
    for (const name of ["dragenter", "dragover"]) {
      area.addEventListener(name, (event) => {
        event.preventDefault();
        area.classList.add("over");
      });
    }
    for (const name of ["dragleave", "drop"]) area.addEventListener(name, () => area.classList.remove("over"));
    area.addEventListener("drop", (event) => {
      event.preventDefault();
      field.files = event.dataTransfer.files;
      field.dispatchEvent(new Event("change", { bubbles: true }));
    });
  }
});

/** Put our button in the place of the browser's, whose text is in the browser's language. */
function dress(area, field) {
  const name = area.querySelector("[data-file-name]");
  const nothing = name.textContent;
  for (const each of area.querySelectorAll("[hidden]")) each.hidden = false;
  field.classList.add("hidden-text");
  const tell = () => (name.textContent = [...field.files].map((file) => file.name).join(", ") || nothing);
  field.addEventListener("change", () => {
    tell();
    say(name.textContent);
  });
  // A browser that comes back to the page keeps the file.
  tell();
}
