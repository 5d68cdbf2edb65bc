// The base map, drawn where a page has a place for it. The page says in words what is there when it cannot be drawn: no
// WebGL, no style, no answer. Buttons and keys zoom; the theme is the page's.
import { found, onPart, text } from "./page.js";

const DARK = matchMedia("(prefers-color-scheme: dark)");
const MOST_ZOOM = 18;

onPart((part) => found(part, "[data-map]").forEach(draw));

/** Draw the map of a place; what it gets once: style, bounds, names of what it says. */
async function draw(place) {
  const said = (state) => tell(place, state);
  let map;
  try {
    const { Map } = await import("./maplibre/maplibre-gl.mjs");
    map = new Map({
      container: place.querySelector("[data-map-ground]"),
      style: styleOf(place),
      ...startOf(place),
      maxZoom: MOST_ZOOM,
      maxPitch: 0,
      dragRotate: false,
      touchPitch: false,
      attributionControl: false,
      fadeDuration: 0,
      locale: { "Map.Title": place.dataset.label },
    });
  } catch {
    said("undrawn");
    return;
  }
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  map.once("load", () => said("drawn"));
  map.on("error", () => map.isStyleLoaded() || said("failed"));
  DARK.addEventListener("change", () => map.setStyle(styleOf(place)));
  press(place, "in", () => map.zoomIn());
  press(place, "out", () => map.zoomOut());
  press(place, "all", () => map.fitBounds(boundsOf(place), { padding: 24 }));
  onZoom(place, map);
}

/** The state that the place is in, for its style sheet and for who looks for it. */
function tell(place, state) {
  place.dataset.state = state;
  for (const each of place.querySelectorAll("[data-map-state]")) each.hidden = each.dataset.mapState !== state;
}

function styleOf(place) {
  const own = document.documentElement.dataset.theme;
  const theme = own === "light" || own === "dark" ? own : DARK.matches ? "dark" : "light";
  return `${place.dataset.map}?theme=${theme}`;
}

/** West, south, east, north. */
function boundsOf(place) {
  return place.dataset.bounds.split(" ").map(Number);
}

/** Where the map begins: at the place that the page's address names, else with all of it. */
function startOf(place) {
  const [zoom, lat, lon] = location.hash.slice(1).split("/").map(Number);
  if ([zoom, lat, lon].every(Number.isFinite)) return { center: [lon, lat], zoom };
  return { bounds: boundsOf(place), fitBoundsOptions: { padding: 24 } };
}

function press(place, name, done) {
  place.querySelector(`[data-map-do=${name}]`)?.addEventListener("click", done);
}

/** A button that leads nowhere says so; the address keeps what is looked at. */
function onZoom(place, map) {
  const [nearer, farther] = ["in", "out"].map((name) => place.querySelector(`[data-map-do=${name}]`));
  const shown = () => {
    nearer.ariaDisabled = map.getZoom() >= map.getMaxZoom();
    farther.ariaDisabled = map.getZoom() <= map.getMinZoom();
  };
  map.on("zoomend", shown);
  map.on("moveend", () => {
    const { lng, lat } = map.getCenter();
    history.replaceState(history.state, "", `#${map.getZoom().toFixed(2)}/${lat.toFixed(5)}/${lng.toFixed(5)}`);
  });
  shown();
}
