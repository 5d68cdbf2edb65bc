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
/** Width and height of the mark of an event, and of its number, px. */
const MARK_PX = 20;
const NUMBER_PX = 14;
/** Around the marks of a group, px. */
const EDGE_PX = 3;
/** Where the name of an end may stand, px. */
const BESIDE = [[0, -22], [38, 0], [-38, 0], [0, 22], [38, -22], [-38, -22], [38, 22], [-38, 22], [0, -44], [0, 44]];
const END_PX = { wide: 44, tall: 20 };
const ARROW = "track-arrow";
const ARROW_PX = 24;

/**
 * Draw the track; null where the browser cannot draw a map. `told(events)`: the words for events. `ends`: the names of
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
    this.markOf = (events) => this.#mark(events, told(events), icon(icons, `event-${shapes[events[0].kind]}`));
    this.ends = ends.map((name, no) => {
      const element = made("div", "trip-end");
      element.textContent = name;
      const point = this.track.points.at(-no);
      new Marker({ element: made("div", "trip-dot") }).setLngLat(point).addTo(map);
      return { marker: new Marker({ element }).setLngLat(point).addTo(map), point };
    });
    this.Marker = Marker;
    this.#markEvents();
    map.on("zoomend", () => this.#markEvents());
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

  /** Mark the events: those that would hide each other as one group, in which each kind has a mark. */
  #markEvents() {
    for (const marker of this.marks) marker.remove();
    const groups = this.track.events.map((event) => this.#group([event]));
    for (let no = 1; no < groups.length; no += 1) {
      const before = groups.findIndex((each, at) => at < no && doMeet(each, groups[no]));
      if (before < 0) continue;
      groups[before] = this.#group([...groups[before].events, ...groups[no].events]);
      groups.splice(no, 1);
      // It may be wider now.
      no = Math.max(before, 1) - 1;
    }
    this.marks = groups.map(({ kinds, point, isSingle }) => {
      const marks = kinds.map(this.markOf);
      let [element] = marks;
      if (!isSingle) {
        element = made("div", "trip-group");
        element.append(...marks);
      }
      return new this.Marker({ element }).setLngLat(point).addTo(this.map);
    });
    const taken = [...groups];
    for (const { marker, point } of this.ends) {
      const { x, y } = this.map.project(point);
      const boxes = BESIDE.map(([right, down]) => ({ x: x + right, y: y + down, ...END_PX, offset: [right, down] }));
      const box = boxes.find((each) => !taken.some((other) => doMeet(each, other))) ?? boxes[0];
      marker.setOffset(box.offset);
      taken.push(box);
    }
  }

  /** Events as one group, with its box on the map. */
  #group(events) {
    const kinds = [...Map.groupBy(events, ({ kind }) => kind).values()];
    const point = [0, 1].map((axis) => events.reduce((sum, each) => sum + each.point[axis], 0) / events.length);
    const numbers = kinds.filter(({ length }) => length > 1).length;
    const isSingle = events.length === 1;
    const edge = isSingle ? 0 : 2 * EDGE_PX;
    return { events, kinds, point, isSingle, ...this.map.project(point), wide: MARK_PX * kinds.length + NUMBER_PX * numbers + edge, tall: MARK_PX + edge };
  }

  /** A mark for events of one kind; each press shows the next of them. */
  #mark(events, title, picture) {
    // For pointers; the table has the same events for keys and screen readers.
    const mark = made("div", "trip-marker");
    mark.append(picture, events.length > 1 ? String(events.length) : "");
    mark.title = title;
    mark.ariaHidden = "true";
    mark.addEventListener("click", (click) => {
      click.stopPropagation();
      this.track.showEvent(events[events.indexOf(this.track.event) + 1] ?? events[0], "event");
    });
    return mark;
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

/** Whether two boxes overlap; x and y are in their middle. */
function doMeet(one, other) {
  return Math.abs(one.x - other.x) < (one.wide + other.wide) / 2 && Math.abs(one.y - other.y) < (one.tall + other.tall) / 2;
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
