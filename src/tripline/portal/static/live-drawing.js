// Vehicles on the map: circles when zoomed out, shapes with a heading from zoom `NEAR` on, labels, groups, a trail. One
// GeoJSON source that is replaced as a whole. Each state has its colour and its shape: filled or a ring, large or small
// far out; an arrow, a triangle, a ring and a diamond near by.
import { fit } from "./base-map.js";
import { colour } from "./colours.js";

const NEAR = 11;
const LABELS = 9;
const AROUND = 6;
/** Zoom of the smallest tiles that vehicles are cut into: fewer tiles are fewer frames; one unit is a metre at most. */
const TILES = 12;
const ICON = 44;
const TOKENS = { driving: "--good", stopped: "--warning", parked: "--ink-soft", offline: "--bad" };
const FONT = ["sans-serif"];
const NOTHING = { type: "FeatureCollection", features: [] };
const TOUCHED = ["dots", "shapes"];
const single = ["!", ["has", "point_count"]];
const byState = (values) => ["match", ["get", "state"], ...Object.entries(values).flat(), Object.values(values)[0]];

export class Drawing {
  #map = null;
  #data = NOTHING;
  /** The features of `#data`: vehicles that stand still cost no new picture. */
  #text = "[]";
  #trail = NOTHING;
  #marked = "";
  #loaded = false;

  /** `view`: labels (number, driver, both, none) and clusters. `told`: hover(id or null), pick(ids), moved(). */
  constructor(view, told) {
    this.view = view;
    this.told = told;
  }

  /** Add sources and layers to a new style, in the colours of the theme. */
  style(map) {
    this.#map = map;
    for (const state of Object.keys(TOKENS)) map.addImage(state, icon(state), { pixelRatio: 2 });
    const halo = { "text-color": colour("--ink"), "text-halo-color": colour("--raised"), "text-halo-width": 1.5 };
    map.addSource("trail", { type: "geojson", data: this.#trail });
    map.addLayer({
      id: "trail",
      type: "line",
      source: "trail",
      layout: { "line-join": "round", "line-cap": "round" },
      paint: { "line-color": colour("--accent"), "line-width": 4, "line-opacity": 0.7 },
    });
    map.addSource("vehicles", {
      type: "geojson",
      data: this.#data,
      ...(this.view.clusters ? { cluster: true, clusterRadius: 40, clusterMaxZoom: 14 } : { maxzoom: TILES }),
    });
    const of = { source: "vehicles" };
    map.addLayer({
      ...of,
      id: "marked",
      type: "circle",
      filter: this.#isMarked(),
      paint: { "circle-radius": 16, "circle-color": colour("--accent"), "circle-opacity": 0.25, "circle-stroke-width": 2, "circle-stroke-color": colour("--accent") },
    });
    const colours = Object.fromEntries(Object.entries(TOKENS).map(([state, token]) => [state, colour(token)]));
    const ground = colour("--raised");
    map.addLayer({
      ...of,
      id: "dots",
      type: "circle",
      maxzoom: NEAR,
      filter: single,
      paint: {
        "circle-radius": byState({ driving: 6, stopped: 5, parked: 3.5, offline: 3.5 }),
        "circle-color": byState({ driving: colours.driving, stopped: ground, parked: colours.parked, offline: ground }),
        "circle-stroke-width": byState({ driving: 1.5, stopped: 2.5, parked: 1, offline: 2 }),
        "circle-stroke-color": byState({ driving: ground, stopped: colours.stopped, parked: ground, offline: colours.offline }),
      },
    });
    map.addLayer({
      ...of,
      id: "shapes",
      type: "symbol",
      minzoom: NEAR,
      filter: single,
      layout: {
        "icon-image": ["get", "state"],
        "icon-rotate": ["coalesce", ["get", "heading"], 0],
        "icon-rotation-alignment": "map",
        "icon-allow-overlap": true,
        "icon-ignore-placement": true,
      },
    });
    map.addLayer({
      ...of,
      id: "labels",
      type: "symbol",
      minzoom: LABELS,
      filter: single,
      layout: { "text-field": ["get", "label"], "text-font": FONT, "text-size": 12, "text-offset": [0, 1.1], "text-anchor": "top" },
      paint: halo,
    });
    map.addLayer({
      ...of,
      id: "groups",
      type: "circle",
      filter: ["has", "point_count"],
      paint: { "circle-radius": 16, "circle-color": ground, "circle-stroke-width": 2, "circle-stroke-color": colour("--ink-soft") },
    });
    map.addLayer({
      ...of,
      id: "group-counts",
      type: "symbol",
      filter: ["has", "point_count"],
      layout: { "text-field": ["get", "point_count_abbreviated"], "text-font": FONT, "text-size": 12, "text-allow-overlap": true },
      paint: { "text-color": colour("--ink") },
    });
  }

  /** Follow pointer and taps. */
  listen(map) {
    this.#map = map;
    map.once("load", () => {
      this.#loaded = true;
      this.#source("vehicles")?.setData(this.#data);
    });
    map.on("mousemove", (event) => {
      if (map.isMoving()) return;
      const [id] = this.#at(event.point);
      map.getCanvas().style.cursor = id ? "pointer" : "";
      this.told.hover(id ?? null);
    });
    map.getCanvas().addEventListener("pointerleave", () => this.told.hover(null));
    map.on("click", async (event) => {
      const group = this.#found(event.point, ["groups"])[0];
      if (!group) return this.told.pick(this.#at(event.point));
      const zoom = await map.getSource("vehicles").getClusterExpansionZoom(group.properties.cluster_id);
      map.easeTo({ center: group.geometry.coordinates, zoom });
    });
    map.on("dragstart", () => this.told.moved());
  }

  /** Show vehicles: {id, vehicle, position, state}. Stale ones are pale. */
  show(found, isStale) {
    const { labels } = this.view;
    const features = found.map(({ id, vehicle, position, state }) => ({
      type: "Feature",
      geometry: { type: "Point", coordinates: [position.lon, position.lat] },
      properties: {
        id,
        state,
        // Only arrows turn.
        heading: state === "driving" ? (position.heading ?? 0) : 0,
        label: labelOf(vehicle, labels),
      },
    }));
    const text = JSON.stringify(features);
    if (text !== this.#text) {
      this.#text = text;
      this.#data = { type: "FeatureCollection", features };
      // A source that changes every second would hold back the first complete picture of a slow machine.
      if (this.#loaded) this.#source("vehicles")?.setData(this.#data);
    }
    const canvas = this.#map?.getCanvas();
    if (canvas) canvas.classList.toggle("live-stale", isStale);
  }

  mark(id) {
    if (this.#marked === (id ?? "")) return;
    this.#marked = id ?? "";
    if (this.#map?.getLayer("marked")) this.#map.setFilter("marked", this.#isMarked());
  }

  /** Show the drives of one vehicle, each a list of points with lat and lon. */
  trail(drives) {
    const coordinates = drives.filter((each) => each.length > 1).map((each) => each.map(({ lat, lon }) => [lon, lat]));
    this.#trail = { type: "Feature", properties: {}, geometry: { type: "MultiLineString", coordinates } };
    this.#source("trail")?.setData(this.#trail);
  }

  /** Apply a changed view. */
  look() {
    const map = this.#map;
    if (!map?.getSource("vehicles")) return;
    for (const { id, source } of map.getStyle().layers) if (["vehicles", "trail"].includes(source)) map.removeLayer(id);
    for (const source of ["vehicles", "trail"]) map.removeSource(source);
    for (const state of Object.keys(TOKENS)) map.removeImage(state);
    this.style(map);
  }

  /** Bring a place to the middle; on a narrow map below the card. */
  centre(position, { near = false, above = null } = {}) {
    if (!position || !this.#map) return;
    const zoom = near ? Math.max(this.#map.getZoom(), 14) : this.#map.getZoom();
    const { clientWidth, clientHeight } = this.#map.getContainer();
    const covered = above && clientWidth < 2 * above.offsetWidth ? above.offsetHeight : 0;
    const down = Math.max(Math.min(covered / 2, clientHeight / 2 - 32), 0);
    this.#map.easeTo({ center: [position.lon, position.lat], zoom, offset: [0, down], duration: 500 });
  }

  fit(bounds) {
    if (this.#map && bounds) fit(this.#map, bounds);
  }

  resize() {
    requestAnimationFrame(() => this.#map?.resize());
  }

  #source(name) {
    return this.#map?.getSource(name);
  }

  #isMarked() {
    return ["==", ["get", "id"], this.#marked];
  }

  /** Ids of the vehicles around a point, each once. */
  #at(point) {
    return [...new Set(this.#found(point, TOUCHED).map((each) => each.properties.id))];
  }

  #found({ x, y }, layers) {
    const known = layers.filter((each) => this.#map.getLayer(each));
    const box = [
      [x - AROUND, y - AROUND],
      [x + AROUND, y + AROUND],
    ];
    return this.#map.queryRenderedFeatures(box, { layers: known });
  }
}

function labelOf({ number, driver }, labels) {
  if (labels === "none") return "";
  if (labels === "driver") return driver ?? "";
  return labels === "both" && driver ? `${number}\n${driver}` : number;
}

/** The shape of a state, drawn as an image. */
function icon(state) {
  const canvas = new OffscreenCanvas(ICON, ICON);
  const pen = canvas.getContext("2d");
  pen.translate(ICON / 2, ICON / 2);
  pen.lineJoin = "round";
  pen.fillStyle = colour(state === "parked" ? "--raised" : TOKENS[state]);
  pen.strokeStyle = colour(state === "parked" ? TOKENS.parked : "--raised");
  pen.lineWidth = state === "parked" ? 5 : 3;
  pen.beginPath();
  if (state === "driving") polygon(pen, [0, -18], [13, 16], [0, 9], [-13, 16]);
  else if (state === "stopped") polygon(pen, [0, -13], [14, 12], [-14, 12]);
  else if (state === "offline") polygon(pen, [0, -14], [14, 0], [0, 14], [-14, 0]);
  else pen.arc(0, 0, 9, 0, 2 * Math.PI);
  pen.fill();
  pen.stroke();
  return pen.getImageData(0, 0, ICON, ICON);
}

function polygon(pen, ...points) {
  points.forEach(([x, y], index) => (index ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.closePath();
}
