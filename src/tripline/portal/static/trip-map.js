// The track of a trip on the base map: coloured by speed or excess, with arrows along it, its ends, its events and the
// moment that is shown.
import { fit, openMap } from "./base-map.js";
import { colour } from "./colours.js";

/** Steps of the track by excess; those of speeds are 1 to 5. */
const UNKNOWN = 1;
const WITHIN = 3;
const OVER = 6;
const COUNTED = 7;
/** Two samples further apart than this, ms, are not joined. */
const GAP_MS = 120_000;
/** The step of a hole in the track. */
const HOLE = 0;
const NEAR_PX = 24;
/** Width and height of the mark of an event, px. */
const MARK_PX = 20;
/** Where a mark may stand beside its place, px, the nearest first. */
const AROUND = [-3, -2, -1, 0, 1, 2, 3]
  .flatMap((right, _, all) => all.map((down) => [right * MARK_PX, down * MARK_PX]))
  .toSorted((one, other) => Math.hypot(...one) - Math.hypot(...other));
/** Where the name of an end may stand, px. */
const BESIDE = [[0, -22], [0, 22], [40, 0], [-40, 0]];
const ARROW = "track-arrow";
const ARROW_PX = 24;

/**
 * Draw the track; null where the browser cannot draw a map. `told(event)`: the words for an event. `ends`: the names of
 * begin and end. `holes`: spans in which the way is not known, drawn as a dashed line.
 */
export async function drawMap(place, track, { icons, shapes, told, ends = [], holes = track.noFix }) {
  // The map takes most of the time, so what stands beside it is painted first.
  await painted();
  const drawing = new TripMap(track, holes);
  const map = await openMap(place, { bounds: () => track.bounds(), onStyle: (map) => drawing.style(map) });
  if (map === null) return null;
  const { Marker } = await import("./maplibre/maplibre-gl.mjs");
  await drawing.open(map, Marker, { icons, shapes, told, ends });
  return drawing;
}

class TripMap {
  constructor(track, holes) {
    this.track = track;
    this.torn = track.behind(holes);
    this.speeding = track.speeding();
    this.bounds = document.querySelector("[data-speeds]").dataset.speeds.split(" ").map(Number);
    this.by = "speed";
    this.marks = [];
    this.follows = false;
  }

  async open(map, Marker, { icons, shapes, told, ends }) {
    this.map = map;
    this.here = new Marker({ element: made("div", "trip-here") }).setLngLat(this.track.points[0]).addTo(map);
    const add = (element, point, near) => {
      const marker = new Marker({ element }).setLngLat(point).addTo(map);
      this.marks.push({ marker, point, near, wide: Math.max(element.offsetWidth, MARK_PX) });
    };
    for (const event of this.track.events) {
      // For pointers; the table has the same events for keys and screen readers.
      const mark = made("div", "trip-marker");
      mark.append(made("div", "trip-lead"), icon(icons, `event-${shapes[event.kind]}`));
      mark.title = told(event);
      mark.ariaHidden = "true";
      mark.addEventListener("click", (click) => {
        click.stopPropagation();
        this.track.showEvent(event, "event");
      });
      add(mark, event.point, AROUND);
    }
    for (const [no, name] of ends.entries()) {
      const end = made("div", "trip-end");
      end.textContent = name;
      add(end, this.track.points.at(-no), BESIDE);
    }
    this.#spread();
    map.on("zoomend", () => this.#spread());
    map.on("mousemove", ({ point, originalEvent }) => {
      if (!originalEvent.target.closest(".trip-marker")) this.#pick(point);
    });
    map.on("click", (event) => this.#pick(event.point));
    map.on("dragstart", () => (this.follows = false));
  }

  /** Add the track to a style, which forgets it when the theme changes. */
  style(map) {
    map.addSource("track", { type: "geojson", data: this.#lines() });
    const line = { "line-cap": "round", "line-join": "round" };
    const known = ["!=", ["get", "step"], HOLE];
    map.addLayer({ id: "track-hole", type: "line", source: "track", filter: ["!", known], paint: { "line-color": colour("--ink-soft"), "line-width": 3, "line-dasharray": [1, 2] } });
    map.addLayer({ id: "track-edge", type: "line", source: "track", filter: known, layout: line, paint: { "line-color": colour("--ground"), "line-width": 8 } });
    map.addLayer({ id: "track", type: "line", source: "track", filter: known, layout: line, paint: { "line-color": this.#paint(), "line-width": 5 } });
    map.addSource("track-way", { type: "geojson", data: this.#lines(() => UNKNOWN) });
    map.addImage(ARROW, arrow(), { pixelRatio: 2 });
    const along = { "symbol-placement": "line", "symbol-spacing": 100, "icon-image": ARROW, "icon-allow-overlap": true, "icon-ignore-placement": true };
    map.addLayer({ id: "track-way", type: "symbol", source: "track-way", filter: known, layout: along });
  }

  /** Colour by `speed` or `excess`. */
  colourBy(by) {
    this.by = by;
    if (!this.map?.getSource("track")) return;
    this.map.getSource("track").setData(this.#lines());
    this.map.setPaintProperty("track", "line-color", this.#paint());
  }

  /** Move the mark to a point, and the map if it follows. */
  moveTo(point) {
    this.here?.setLngLat(point);
    if (!this.map) return;
    if (this.follows) this.map.jumpTo({ center: point });
  }

  /** Show a moment that is out of sight. */
  reveal(point) {
    if (this.map && !this.map.getBounds().contains(point)) this.map.jumpTo({ center: point });
  }

  /** Show the samples between two places. */
  showPart(first, last) {
    if (this.map && last > first && !this.follows) fit(this.map, this.track.bounds(first, last));
  }

  #pick({ x, y }) {
    let [nearest, least] = [-1, NEAR_PX ** 2];
    const { points } = this.track;
    for (let no = 0; no < points.length; no += 1) {
      const at = this.map.project(points[no]);
      const away = (at.x - x) ** 2 + (at.y - y) ** 2;
      if (away < least) [nearest, least] = [no, away];
    }
    if (nearest >= 0) this.track.show(nearest, "map");
  }

  /** Move marks apart that would hide each other. */
  #spread() {
    const taken = [];
    for (const { marker, point, near, wide } of this.marks) {
      const { x, y } = this.map.project(point);
      const isFree = ([right, down]) => taken.every((each) => Math.abs(x + right - each.x) >= (wide + each.wide) / 2 || Math.abs(y + down - each.y) >= MARK_PX);
      const [right, down] = near.find(isFree) ?? near[0];
      marker.setOffset([right, down]);
      const lead = marker.getElement().querySelector(".trip-lead");
      if (lead) Object.assign(lead.style, { width: `${Math.hypot(right, down)}px`, rotate: `${Math.atan2(-down, -right)}rad` });
      taken.push({ x: x + right, y: y + down, wide });
    }
  }

  /** One line for each run of samples of one step. */
  #lines(stepOf = (no) => this.#step(no)) {
    const features = [];
    const { points, times } = this.track;
    let run = null;
    for (let no = 1; no < points.length; no += 1) {
      const isHole = this.torn.has(no);
      const step = isHole ? HOLE : stepOf(no);
      const joined = isHole || times[no] - times[no - 1] <= GAP_MS;
      if (!joined) run = null;
      else if (run?.properties.step === step) run.geometry.coordinates.push(points[no]);
      else {
        run = { type: "Feature", properties: { step }, geometry: { type: "LineString", coordinates: [points[no - 1], points[no]] } };
        features.push(run);
      }
    }
    return { type: "FeatureCollection", features };
  }

  #step(no) {
    if (this.by === "speed") {
      const speed = this.track.speeds[no];
      return 1 + this.bounds.filter((bound) => speed >= bound).length;
    }
    if (this.speeding[no - 1]) return COUNTED;
    const excess = this.track.excess(no);
    return excess === null ? UNKNOWN : excess <= 0 ? WITHIN : OVER;
  }

  #paint() {
    const tokens = ["--speed-1", "--speed-2", "--speed-3", "--speed-4", "--speed-5", "--over-1", "--over-2"];
    const steps = tokens.flatMap((token, no) => [no + 1, colour(token)]);
    return ["match", ["get", "step"], ...steps, colour("--speed-1")];
  }
}

/** Wait for the next frame, or for a moment in a page out of sight, which has none. */
function painted() {
  return new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 200);
  });
}

/** The picture of an arrow to the right. */
function arrow() {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = ARROW_PX;
  const drawn = canvas.getContext("2d");
  drawn.lineCap = drawn.lineJoin = "round";
  for (const [token, width] of [["--ground", 10], ["--ink", 4]]) {
    drawn.strokeStyle = colour(token);
    drawn.lineWidth = width;
    drawn.beginPath();
    drawn.moveTo(8, 6);
    drawn.lineTo(15, 12);
    drawn.lineTo(8, 18);
    drawn.stroke();
  }
  return drawn.getImageData(0, 0, ARROW_PX, ARROW_PX);
}

function made(tag, name) {
  const element = document.createElement(tag);
  element.className = name;
  return element;
}

function icon(file, name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `${file}#${name}`);
  svg.append(use);
  return svg;
}
