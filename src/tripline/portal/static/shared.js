// A shared vehicle or trip: exchange the secret of the address for a cookie, then draw the position and renew it, or the
// track. Once the link has ended, both disappear. A request that fails is sent again, and the page says why it waits.
import { fit, openMap } from "./base-map.js";
import { colour } from "./colours.js";

const EVERY_MS = 2_000;
const PATIENCE_MS = 15_000;
const NOTHING = { type: "FeatureCollection", features: [] };
const page = document.querySelector("[data-shared]");
const texts = JSON.parse(page.dataset.texts);
const path = location.pathname.replace(/\/$/, "");
const language = document.documentElement.lang;
const ages = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const lasting = new Intl.NumberFormat(language, { style: "unit", unit: "second", unitDisplay: "long" });

let map = null;
let trail = [];
let vehicle = NOTHING;
/** The connection is lost, and what the page said before. */
let [cut, stated] = [false, ""];

/** The server has too many requests of this link or network. */
class Crowded extends Error {
  constructor(seconds) {
    super();
    this.seconds = seconds;
  }
}

/** The JSON behind an address of this link; null if the link does not work. */
async function get(what, options = {}) {
  const answer = await fetch(`${path}/${what}`, { signal: AbortSignal.timeout(PATIENCE_MS), ...options });
  if (answer.status === 429) throw new Crowded(Number(answer.headers.get("Retry-After")) || 1);
  if (answer.status >= 500) throw new Error(String(answer.status));
  return answer.ok ? answer.json() : null;
}

/** Get the cookie, and what the link shows. A page that is loaded again has it already, which counts no opening. */
async function enter() {
  const found = sessionStorage.getItem(path) ? await get("shows") : null;
  if (found) return found.shows;
  const body = new URLSearchParams({ secret: location.hash.slice(1) });
  if (!(await get("opening", { method: "POST", body }))) return null;
  sessionStorage.setItem(path, "opened");
  return (await get("shows"))?.shows ?? null;
}

/** The result of a request, repeated until it has one. */
async function first(request) {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      await pause(error, texts.unreached);
      await sleep(EVERY_MS);
    }
  }
}

/** Say why the page waits, and wait as long as the server asks for. The seconds that pass are not announced. */
async function pause(error, words) {
  write("state", error instanceof Crowded ? texts.crowded : words);
  for (let left = error.seconds ?? 0; left > 0; left -= 1) {
    write("wait", texts.again.replace("{age}", lasting.format(left)));
    await sleep(1_000);
  }
  write("wait", "");
}

function sleep(time) {
  return new Promise((done) => setTimeout(done, time));
}

function title(text) {
  document.querySelector("h1").textContent = text;
  document.title = `${text} · Tripline`;
}

function part(name) {
  return page.querySelector(`[data-part=${name}]`);
}

/** Set a text; the age is none that is announced, since it changes with each answer. */
function write(name, text) {
  const place = part(name);
  place.hidden = !text;
  if (place.textContent !== text) place.textContent = text;
}

function age(time) {
  const seconds = Math.min(0, Math.round((time - Date.now()) / 1000));
  if (seconds > -60) return ages.format(seconds, "second");
  return seconds > -3600 ? ages.format(Math.round(seconds / 60), "minute") : ages.format(Math.round(seconds / 3600), "hour");
}

function showTrip(found) {
  trail = found.points.map(({ lat, lon }) => [lon, lat]);
  write("number", found.number ?? "");
  write("state", trail.length ? "" : found.whole ? texts["trip.none"] : texts["trip.short"]);
  if (!trail.length) return;
  const timeZone = page.dataset.zone;
  const format = (options) => new Intl.DateTimeFormat(language, { hourCycle: "h23", timeZone, ...options });
  const full = format({ dateStyle: "medium", timeStyle: "short" });
  const day = format({ dateStyle: "medium" });
  const ends = day.format(found.begin) === day.format(found.end) ? format({ timeStyle: "short" }) : full;
  write("age", texts["trip.times"].replace("{begin}", full.format(found.begin)).replace("{end}", ends.format(found.end)));
  write("heading", found.whole ? "" : texts["trip.cut_ends"]);
}

function show(found) {
  const before = JSON.stringify(vehicle);
  write("number", found.number ?? "");
  if (found.time === null) {
    write("state", texts.none);
    for (const name of ["age", "heading"]) write(name, "");
    vehicle = NOTHING;
  } else {
    write("state", "");
    write("age", texts.at.replace("{age}", age(found.time)));
    write("heading", found.heading === null ? "" : texts.heading.replace("{degrees}", Math.round(found.heading)));
    const point = [found.lon, found.lat];
    vehicle = feature({ type: "Point", coordinates: point }, { heading: found.heading ?? -1 });
    const last = trail.at(-1);
    if (trail.length && (last[0] !== point[0] || last[1] !== point[1])) trail.push(point);
  }
  if (JSON.stringify(vehicle) !== before) draw();
}

function feature(geometry, properties = {}) {
  return { type: "Feature", geometry, properties };
}

function draw() {
  map?.getSource("vehicle")?.setData(vehicle);
  map?.getSource("trail")?.setData(trail.length > 1 ? feature({ type: "LineString", coordinates: trail }) : NOTHING);
}

function bounds() {
  const points = vehicle.geometry ? [...trail, vehicle.geometry.coordinates] : trail;
  if (!points.length) return undefined;
  const [lons, lats] = [0, 1].map((at) => points.map((each) => each[at]));
  return [Math.min(...lons), Math.min(...lats), Math.max(...lons), Math.max(...lats)];
}

function style(on) {
  on.addImage("arrow", arrow(), { pixelRatio: 2 });
  for (const id of ["trail", "vehicle"]) on.addSource(id, { type: "geojson", data: NOTHING });
  on.addLayer({
    id: "trail",
    type: "line",
    source: "trail",
    layout: { "line-join": "round", "line-cap": "round" },
    paint: { "line-color": colour("--accent"), "line-width": 4, "line-opacity": 0.7 },
  });
  on.addLayer({
    id: "dot",
    type: "circle",
    source: "vehicle",
    paint: { "circle-radius": 8, "circle-color": colour("--accent"), "circle-stroke-width": 2, "circle-stroke-color": colour("--raised") },
  });
  on.addLayer({
    id: "arrow",
    type: "symbol",
    source: "vehicle",
    filter: [">=", ["get", "heading"], 0],
    layout: { "icon-image": "arrow", "icon-rotate": ["get", "heading"], "icon-rotation-alignment": "map", "icon-allow-overlap": true },
  });
  map = on;
  draw();
}

/** An arrow to the north. */
function arrow() {
  const size = 64;
  const context = Object.assign(document.createElement("canvas"), { width: size, height: size }).getContext("2d");
  context.fillStyle = colour("--accent");
  context.strokeStyle = colour("--raised");
  context.lineWidth = 3;
  context.beginPath();
  for (const [x, y] of [[32, 4], [52, 56], [32, 44], [12, 56]]) context.lineTo(x, y);
  context.closePath();
  context.fill();
  context.stroke();
  return context.getImageData(0, 0, size, size);
}

function end() {
  [trail, vehicle] = [[], NOTHING];
  // Its tiles are not served any more.
  map?.remove();
  map = null;
  page.querySelector("[data-map]").hidden = true;
  for (const name of ["number", "age", "heading"]) write(name, "");
  write("state", texts.gone);
}

/** Renew the position until the link has ended; of a trip, find out whether it has. */
async function follow(what) {
  for (;;) {
    await sleep(EVERY_MS);
    if (document.hidden) continue;
    try {
      const found = await get(what);
      if (!found) return end();
      if (what === "position") show(found);
      else if (cut) write("state", stated);
      cut = false;
    } catch (error) {
      cut = true;
      await pause(error, texts.cut);
    }
  }
}

async function start() {
  const shows = await first(enter);
  if (!shows) return end();
  title(texts[`title.${shows}`]);
  const isTrip = shows === "trip";
  const found = await first(() => get(isTrip ? "trip" : "position"));
  if (!found) return end();
  if (isTrip) {
    showTrip(found);
    stated = part("state").textContent;
  } else {
    trail = (await first(() => get("trail")))?.points.map(({ lat, lon }) => [lon, lat]) ?? [];
    show(found);
  }
  const place = page.querySelector("[data-map]");
  // Not awaited: the end of the link does not wait for the map.
  openMap(place, { onStyle: style, bounds }).then((opened) => {
    if (page.querySelector("[data-map]").hidden) return opened?.remove();
    map = opened;
    draw();
    if (map && bounds()) fit(map, bounds());
  });
  return follow(isTrip ? "shows" : "position");
}

start();
