// The track of a trip on the base map: coloured by speed or excess, with its events and the moment that is shown.
import { fit, openMap } from "./base-map.js";
import { colour } from "./colours.js";

/** Upper bounds of the steps of speed, km/h. */
const SPEEDS = [30, 50, 80, 100];
/** From this excess on, km/h, the second colour. */
const FAR_OVER = 20;
/** Two samples further apart than this, ms, are not joined. */
const GAP_MS = 120_000;
/** The step of a hole in the track. */
const HOLE = 0;
const NEAR_PX = 24;

/**
 * Draw the track; null where the browser cannot draw a map. `told(event)`: the words for an event. `holes`: spans in which
 * the way is not known, drawn as a dashed line.
 */
export async function drawMap(place, track, { icons, shapes, told, holes = track.noFix }) {
  // The map takes most of the time, so what stands beside it is painted first.
  await painted();
  const drawing = new TripMap(track, holes);
  const map = await openMap(place, { bounds: () => track.bounds(), onStyle: (map) => drawing.style(map) });
  if (map === null) return null;
  const { Marker } = await import("./maplibre/maplibre-gl.mjs");
  await drawing.open(map, Marker, { icons, shapes, told });
  return drawing;
}

class TripMap {
  constructor(track, holes) {
    this.track = track;
    this.holes = holes;
    this.by = "speed";
    this.follows = false;
  }

  async open(map, Marker, { icons, shapes, told }) {
    this.map = map;
    this.here = new Marker({ element: made("div", "trip-here") }).setLngLat(this.track.points[0]).addTo(map);
    for (const event of this.track.events) {
      // For pointers; the table has the same events for keys and screen readers.
      const mark = made("div", "trip-marker");
      mark.append(icon(icons, `event-${shapes[event.kind]}`));
      mark.title = told(event);
      mark.ariaHidden = "true";
      mark.addEventListener("click", (click) => {
        click.stopPropagation();
        this.track.show(this.track.near(event.at), "event");
      });
      new Marker({ element: mark }).setLngLat(event.point).addTo(map);
    }
    map.on("mousemove", (event) => this.#pick(event.point));
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

  /** One line for each run of samples of one step. */
  #lines() {
    const features = [];
    const { points, times } = this.track;
    let run = null;
    for (let no = 1; no < points.length; no += 1) {
      const isHole = this.track.isBehind(no, this.holes);
      const step = isHole ? HOLE : this.#step(no);
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
      return speed === null ? 1 : 1 + SPEEDS.filter((bound) => speed >= bound).length;
    }
    const excess = this.track.excess(no);
    return excess === null || excess <= 0 ? 2 : excess <= FAR_OVER ? 6 : 7;
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
