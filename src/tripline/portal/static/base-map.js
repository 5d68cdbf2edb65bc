// The base map, opened in a place that `map.html` made. The place says in words when the map cannot be drawn: no WebGL,
// no style, no answer. Buttons and keys zoom; the theme is the page's. Without an imported map the background is plain,
// with a scale. Not here: what a page draws on the map.

const DARK = matchMedia("(prefers-color-scheme: dark)");
const MOST_ZOOM = 18;
/** Around what is shown; on the right, beside the buttons, so that they cover no label. */
const PADDING = { top: 40, right: 96, bottom: 40, left: 40 };
/** A style that could not be loaded is loaded again after so long. */
const AGAIN_MS = 5_000;
/** Zoom at which a place without bounds begins: the world. */
const WORLD = { center: [0, 20], zoom: 1 };

/**
 * Open the map of a place: the MapLibre map, or null where the browser cannot draw one.
 *
 * `onStyle(map)` is called for each style, first and after a change of theme: a page adds its sources and layers there.
 * `bounds` (west, south, east, north) is a function of what the map and its button "all" show; by default what the
 * place names. `inAddress`: the address of the page has the place that is looked at.
 */
export async function openMap(place, { onStyle = () => {}, bounds = () => boundsOf(place), inAddress = false } = {}) {
  let map;
  try {
    const { Map, ScaleControl } = await import("./maplibre/maplibre-gl.mjs");
    map = new Map({
      container: place.querySelector("[data-map-ground]"),
      style: styleOf(place),
      ...((inAddress && startInAddress()) || startOf(bounds() ?? boundsOf(place))),
      maxZoom: MOST_ZOOM,
      maxPitch: 0,
      dragRotate: false,
      touchPitch: false,
      attributionControl: false,
      fadeDuration: 0,
      locale: { "Map.Title": place.dataset.label },
    });
    map.addControl(new ScaleControl({ unit: "metric" }), "bottom-left");
  } catch {
    show(place, "undrawn");
    return null;
  }
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  map.on("style.load", () => onStyle(map));
  map.once("load", () => show(place, "drawn"));
  let again = null;
  map.on("error", () => {
    if (map.isStyleLoaded() || place.dataset.state === "drawn") return;
    show(place, "failed");
    clearTimeout(again);
    again = setTimeout(() => place.dataset.state === "failed" && map.setStyle(styleOf(place), { diff: false }), AGAIN_MS);
  });
  map.once("remove", () => clearTimeout(again));
  // Without `diff`, which would remove the layers of the page and not call back.
  DARK.addEventListener("change", () => map.setStyle(styleOf(place), { diff: false }));
  press(place, "in", () => map.zoomIn());
  press(place, "out", () => map.zoomOut());
  press(place, "all", () => fit(map, bounds() ?? boundsOf(place)));
  limitButtons(place, map);
  if (inAddress) keepInAddress(map);
  return map;
}

/** Show an area: west, south, east, north. A single point is shown at the zoom of a street. */
export function fit(map, bounds) {
  if (bounds) map.fitBounds(bounds, { padding: PADDING, maxZoom: 15 });
  else map.jumpTo(WORLD);
}

/** Set the state of the place, for its style sheet, and show the words for it. */
function show(place, state) {
  place.dataset.state = state;
  for (const each of place.querySelectorAll("[data-map-state]")) each.hidden = each.dataset.mapState !== state;
}

function styleOf(place) {
  const own = document.documentElement.dataset.theme;
  const theme = own === "light" || own === "dark" ? own : DARK.matches ? "dark" : "light";
  return `${place.dataset.map}?theme=${theme}`;
}

/** West, south, east, north of the imported maps; undefined without one. */
function boundsOf(place) {
  return place.dataset.bounds ? place.dataset.bounds.split(" ").map(Number) : undefined;
}

function startOf(bounds) {
  return bounds ? { bounds, fitBoundsOptions: { padding: PADDING, maxZoom: 15 } } : WORLD;
}

/** The place that the page's address names. */
function startInAddress() {
  const [zoom, lat, lon] = location.hash.slice(1).split("/").map(Number);
  return [zoom, lat, lon].every(Number.isFinite) ? { center: [lon, lat], zoom } : undefined;
}

function press(place, name, done) {
  place.querySelector(`[data-map-do=${name}]`)?.addEventListener("click", done);
}

/** Disable a button that leads nowhere. */
function limitButtons(place, map) {
  const [nearer, farther] = ["in", "out"].map((name) => place.querySelector(`[data-map-do=${name}]`));
  const limit = () => {
    nearer.ariaDisabled = map.getZoom() >= map.getMaxZoom();
    farther.ariaDisabled = map.getZoom() <= map.getMinZoom();
  };
  map.on("zoomend", limit);
  limit();
}

function keepInAddress(map) {
  map.on("moveend", () => {
    const { lng, lat } = map.getCenter();
    history.replaceState(history.state, "", `#${map.getZoom().toFixed(2)}/${lat.toFixed(5)}/${lng.toFixed(5)}`);
  });
}
