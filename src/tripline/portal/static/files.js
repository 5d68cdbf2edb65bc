// Dropping a file onto its field.
import { found, onPart } from "./page.js";

onPart((part) => {
  for (const area of found(part, "[data-drop]")) {
    area.querySelector("[data-drop-text]").hidden = false;
    const field = area.querySelector("input[type=file]");
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
