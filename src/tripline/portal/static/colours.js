// Colours of the style sheet for scripts that draw: MapLibre and charts do not know tokens or `light-dark()`.

const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);

/** The present colour of a token (`--accent`), in a form that they read; it changes with the theme. */
export function colour(token) {
  probe.style.color = `var(${token})`;
  return getComputedStyle(probe).color;
}
