// The page of the live map: a list of vehicles beside the map, both from one stream. A vehicle that is picked, hovered or
// has the focus shows its card. Not here: the stream (`live-stream.js`), drawing on the map (`live-drawing.js`).
import { openMap } from "./base-map.js";
import { Drawing } from "./live-drawing.js";
import { LiveStream } from "./live-stream.js";
import { say, text } from "./page.js";

const STATES = ["driving", "stopped", "parked", "offline"];
const BADGES = { driving: "good", stopped: "warning", parked: "idle", offline: "bad" };
const ROWS = 100;
const EVERY_MS = 1000;
/** Events come once a second or later; one that is a little early is drawn at once. */
const EARLY_MS = 150;
/** Without events the page is drawn anew so late, lest a tick just before an event hold the event back. */
const QUIET_MS = 1700;
const TICK_MS = 250;
const NOW_S = 3;
/** Pause between two look-ups of the picked vehicle in the map. */
const LOOK_UP_MS = 3000;
/** A position so much later may be on another road. */
const HERE_MS = 5000;
/** A vehicle that reports nothing for so long begins another drive of its trail. */
const BREAK_MS = 600_000;
const STORED = "live-map";
const LANGUAGE = document.documentElement.lang;
const AGO = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: "always", style: "short" });
const KMH = new Intl.NumberFormat(LANGUAGE, { style: "unit", unit: "kilometer-per-hour", maximumFractionDigits: 0 });
const WHOLE = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 0 });
const TENTH = new Intl.NumberFormat(LANGUAGE, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const UNITS = [
  [60, "second", 1],
  [3600, "minute", 60],
  [86400, "hour", 3600],
  [Infinity, "day", 86400],
];
/** Natural order of numbers: 9 before 10. */
const COLLATOR = new Intl.Collator(LANGUAGE, { numeric: true });

class LiveMap {
  constructor(place) {
    this.place = place;
    this.texts = JSON.parse(place.dataset.texts);
    this.rules = JSON.parse(place.dataset.rules);
    this.today = new Intl.DateTimeFormat("en-CA", { timeZone: place.dataset.zone });
    this.clock = new Intl.DateTimeFormat(LANGUAGE, { timeZone: place.dataset.zone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    this.wanted = { states: new Set(), text: "", company: "", director: "" };
    this.view = { sort: "number", labels: "number", clusters: false, ...stored() };
    this.shown = ROWS;
    this.rows = new Map();
    this.picked = this.hovered = this.followed = null;
    this.trails = new Map();
    /** The last answer about the picked vehicle. */
    this.lookedUp = null;
    this.asked = { id: null, ts: 0, at: -Infinity };
    this.drawn = 0;
    this.stream = new LiveStream("/map/stream", document.body.dataset.account);
    this.stream.addEventListener("change", () => this.soon());
    this.stream.addEventListener("state", () => this.showStream({ aloud: true }));
    this.listen();
    this.showStream();
    // States, ages and the silence of the stream change by time alone.
    setInterval(() => performance.now() - this.drawn > QUIET_MS && this.soon(), TICK_MS);
    document.addEventListener("visibilitychange", () => this.soon());
    this.openMap();
  }

  part(name) {
    return this.place.querySelector(`[data-part="${name}"]`);
  }

  async openMap() {
    const ground = this.place.querySelector("[data-map]");
    const drawing = new Drawing(this.view, {
      hover: (id) => this.hover(id),
      pick: (ids) => (ids.length > 1 ? this.showSpot(ids) : this.pick(ids[0] ?? null)),
      moved: () => this.follow(null),
    });
    const map = await openMap(ground, {
      bounds: () => this.bounds(),
      onStyle: (map) => drawing.style(map),
    });
    if (map === null) return;
    this.drawing = drawing;
    drawing.listen(map);
    this.soon();
  }

  /** West, south, east and north of the vehicles that are shown; of offline ones only when there are no others. */
  bounds() {
    let [west, south, east, north] = [180, 90, -180, -90];
    const shown = this.matching ?? [];
    const heard = shown.filter(({ state }) => state !== "offline");
    for (const { position } of heard.length ? heard : shown) {
      west = Math.min(west, position.lon);
      east = Math.max(east, position.lon);
      south = Math.min(south, position.lat);
      north = Math.max(north, position.lat);
    }
    return west > east ? undefined : [west, south, east, north];
  }

  // ---- Drawing ----

  /** Draw at once, or when a second has passed since the last time. */
  soon() {
    if (this.waiting || document.hidden) return;
    const rest = this.drawn + EVERY_MS - EARLY_MS - performance.now();
    this.waiting = true;
    setTimeout(() => requestAnimationFrame(() => this.draw()), Math.max(rest, 0));
  }

  draw() {
    this.waiting = false;
    this.drawn = performance.now();
    this.select();
    this.drawing?.show(this.matching, this.stream.state === "cut");
    this.showCounts();
    this.showRows();
    this.showCard();
    this.lookUp();
    this.showStream();
    if (!this.centred && this.matching.length && this.drawing) {
      this.centred = true;
      this.drawing.fit(this.bounds());
    }
    if (this.followed) this.drawing?.centre(this.stream.positions.get(this.followed));
  }

  /** Order the vehicles by number, and offer their companies and directors, when names changed. */
  order() {
    if (this.ordered === this.stream.named) return;
    this.ordered = this.stream.named;
    this.byNumber = [...this.stream.vehicles.values()].sort((one, other) => COLLATOR.compare(one.number, other.number));
    this.showChoices("company");
    this.showChoices("director");
  }

  /** Vehicles that match search and filters, in the order of the list; counts by state. */
  select() {
    this.order();
    const { positions } = this.stream;
    const { states, text, company, director } = this.wanted;
    const now = this.stream.now();
    const sought = text.toLocaleLowerCase(LANGUAGE);
    this.counts = { driving: 0, stopped: 0, parked: 0, offline: 0 };
    this.all = 0;
    const found = [];
    for (const vehicle of this.byNumber) {
      const position = positions.get(vehicle.id);
      if (!position) continue;
      this.all += 1;
      if (company && vehicle.company !== company) continue;
      if (director && vehicle.director !== director) continue;
      if (sought && !has(vehicle.number, sought) && !has(vehicle.driver, sought)) continue;
      const state = stateOf(position, now, this.rules);
      this.counts[state] += 1;
      if (states.size && !states.has(state)) continue;
      found.push({ id: vehicle.id, vehicle, position, state });
    }
    if (this.view.sort === "age" && !(this.isListHeld() && this.matching)) {
      found.sort((one, other) => other.position.ts - one.position.ts);
    } else if (this.view.sort === "age") {
      // Nothing moves under the pointer or the focus.
      const place = new Map(this.matching.map(({ id }, index) => [id, index]));
      found.sort((one, other) => (place.get(one.id) ?? found.length) - (place.get(other.id) ?? found.length));
    }
    this.matching = found;
  }

  isListHeld() {
    const scroll = this.part("scroll");
    return scroll.matches(":hover") || (scroll.contains(document.activeElement) && scroll !== document.activeElement);
  }

  showCounts() {
    for (const state of STATES) setText(this.place.querySelector(`[data-count=${state}]`), WHOLE.format(this.counts[state]));
    const [shown, all] = [this.matching.length, this.all].map((each) => WHOLE.format(each));
    const words = this.matching.length === this.all ? this.words("count", { shown }) : this.words("count_some", { shown, all });
    const cut = this.stream.cut ? ` ${this.words("count_cut", { shown: WHOLE.format(this.stream.vehicles.size) })}` : "";
    setText(this.part("count"), words + cut);
    const isKnown = this.stream.named > 0;
    this.part("loading").hidden = isKnown || this.all > 0;
    this.part("none").hidden = !isKnown || this.all > 0;
    this.part("no-match").hidden = this.all === 0 || this.matching.length > 0;
  }

  /** The companies, or directors, of the vehicles. */
  showChoices(name) {
    const select = this.part(name);
    const names = [...new Set([...this.stream.vehicles.values()].map((each) => each[name]).filter(Boolean))].sort(COLLATOR.compare);
    if (select.dataset.names === names.join("\n")) return;
    select.dataset.names = names.join("\n");
    const chosen = select.value;
    select.replaceChildren(select.options[0], ...names.map((each) => new Option(each, each, false, each === chosen)));
    this.wanted[name] = select.value;
  }

  // ---- The list ----

  showRows() {
    const list = this.part("rows");
    const some = this.matching.slice(0, this.shown);
    const kept = new Set(some.map(({ id }) => id));
    for (const [id, row] of this.rows) {
      if (kept.has(id)) continue;
      row.remove();
      this.rows.delete(id);
    }
    let next = list.firstElementChild;
    for (const each of some) {
      let row = this.rows.get(each.id);
      if (!row) {
        row = this.newRow(each.id);
        this.rows.set(each.id, row);
      }
      this.fillRow(row, each);
      if (row === next) next = next.nextElementSibling;
      else list.insertBefore(row, next);
    }
    this.place.querySelector("[data-do=more]").hidden = this.matching.length <= this.shown;
  }

  newRow(id) {
    const row = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    for (const name of ["state", "number", "driver", "speed", "age"]) {
      const span = document.createElement("span");
      span.className = `live-${name}`;
      button.append(span, " ");
    }
    button.addEventListener("click", () => this.pick(id, { fly: true, focus: true }));
    for (const name of ["pointerenter", "focus"]) button.addEventListener(name, () => this.hover(id));
    for (const name of ["pointerleave", "blur"]) button.addEventListener(name, () => this.hover(null));
    row.append(button);
    return row;
  }

  fillRow(row, { id, vehicle, position, state }) {
    const button = row.firstElementChild;
    const [mark, number, driver, speed, age] = button.children;
    if (mark.dataset.state !== state) {
      mark.dataset.state = state;
      mark.className = `live-state badge ${BADGES[state]}`;
    }
    setText(mark, this.words(state));
    setText(number, vehicle.number);
    setText(driver, vehicle.driver ?? "");
    setText(speed, state === "driving" ? this.speed(position) : "");
    setText(age, this.age(position));
    const picked = String(id === this.picked);
    if (button.getAttribute("aria-pressed") !== picked) button.setAttribute("aria-pressed", picked);
  }

  // ---- The card ----

  hover(id) {
    if (this.hovered === id) return;
    this.hovered = id;
    this.showCard();
  }

  pick(id, { fly = false, focus = false } = {}) {
    this.picked = id;
    this.hovered = null;
    this.part("spot").hidden = true;
    setText(this.card("said"), "");
    if (this.followed !== id) this.follow(null);
    this.soon();
    this.showCard();
    this.lookUp();
    if (fly) this.drawing?.centre(this.stream.positions.get(id), { near: true, above: this.part("card") });
    if (focus) this.part("card").focus();
  }

  card(name) {
    return this.place.querySelector(`[data-card=${name}]`);
  }

  showCard() {
    const card = this.part("card");
    const id = this.hovered ?? this.picked;
    const vehicle = this.stream.vehicles.get(id);
    const position = this.stream.positions.get(id);
    this.drawing?.mark(position ? id : null);
    if (!vehicle || !position) {
      if (this.picked && id === this.picked) {
        say(this.words("gone"));
        this.picked = null;
      }
      card.hidden = true;
      return;
    }
    const state = stateOf(position, this.stream.now(), this.rules);
    setText(this.card("number"), vehicle.number);
    this.card("state").className = `badge ${BADGES[state]}`;
    setText(this.card("state"), this.words(state));
    const found = this.lookedUp?.vehicleId.id === id ? this.lookedUp : null;
    const here = found && Math.abs(position.ts - found.ts) <= HERE_MS ? found : null;
    setText(this.card("speed"), this.speedAndLimit(position, here?.speedLimit ?? null));
    setText(this.card("driver"), vehicle.driver ?? this.words("no_driver"));
    const coordinates = `${position.lat.toFixed(5)}, ${position.lon.toFixed(5)}`;
    setText(this.card("age"), `${this.age(position)} ${this.words("at", { place: here?.place ?? coordinates })}`);
    const time = new Date(position.ts).toLocaleString(LANGUAGE, { timeZone: this.place.dataset.zone });
    this.card("age").title = `${time}\n${coordinates}`;
    const { vehicle: record, days, trips, share } = this.place.dataset;
    const trip = found?.latestTripId?.id ?? vehicle.trip;
    link(this.card("vehicle"), `${record}${id}`);
    link(this.card("day"), days && `${record}${id}${days}${this.today.format(this.stream.now())}`);
    link(this.card("trip"), trips && trip && `${trips}${trip}`);
    link(this.card("share"), found?.shareable && `${record}${id}${share}`);
    const follow = this.place.querySelector("[data-do=follow]");
    follow.ariaPressed = String(this.followed === id);
    setText(follow, this.words(this.followed === id ? "followed" : "follow"));
    this.place.querySelector("[data-do=trail]").ariaPressed = String(this.trails.has(id));
    card.hidden = false;
  }

  /** Ask about the picked vehicle: once, and again while it moves. */
  async lookUp() {
    const id = this.picked;
    const position = this.stream.positions.get(id);
    const { asked } = this;
    if (!position || this.stream.state !== "live") return;
    if (asked.id === id && (asked.ts === position.ts || performance.now() - asked.at < LOOK_UP_MS)) return;
    const asking = (this.asked = { id, ts: position.ts, at: performance.now() });
    try {
      const answer = await fetch(`/api/tre/v1/vehicle/${id}/position`, { headers: { "X-Poll": "1" } });
      if (!answer.ok) throw new Error(answer.statusText);
      const found = await answer.json();
      if (this.asked !== asking) return;
      this.lookedUp = found;
      this.showCard();
    } catch {
      // The card shows what the stream says until the next attempt.
      asking.ts = 0;
    }
  }

  /** Vehicles that are drawn at one spot, to choose from. */
  showSpot(ids) {
    this.pick(null);
    const rows = ids.map((id) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.className = "link";
      button.textContent = this.stream.vehicles.get(id)?.number ?? "";
      button.addEventListener("click", () => this.pick(id, { focus: true }));
      item.append(button);
      return item;
    });
    this.part("spot-rows").replaceChildren(...rows);
    this.part("spot").hidden = false;
    this.part("spot").focus();
  }

  follow(id) {
    if (this.followed === id) return;
    this.followed = id;
    if (id) this.drawing?.centre(this.stream.positions.get(id), { near: true });
    this.showCard();
  }

  async trail(id) {
    if (this.trails.delete(id)) {
      this.drawing?.trail([]);
      setText(this.card("said"), "");
      this.showCard();
      return;
    }
    try {
      const answer = await fetch(`/api/tre/v1/vehicle/${id}/trail`, { headers: { "X-Poll": "1" } });
      if (!answer.ok) throw new Error(answer.statusText);
      const { data } = await answer.json();
      if (this.picked !== id) return;
      this.trails = new Map(data.length ? [[id, data]] : []);
      this.drawing?.trail(drives(data));
      const words = data.length
        ? this.words("trail_found", { time: this.clock.format(data[0].ts), distance: TENTH.format(drives(data).reduce((sum, each) => sum + kilometres(each), 0)) })
        : this.words("trail_none");
      setText(this.card("said"), words);
    } catch {
      setText(this.card("said"), this.words("trail_failed"));
    }
    this.showCard();
  }

  // ---- Words ----

  words(name, values = {}) {
    return this.texts[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
  }

  speed({ speed }) {
    return speed === null ? this.words("no_speed") : KMH.format(speed);
  }

  /** Speed, limit of the road if the map knows it, and direction. */
  speedAndLimit(position, limit) {
    if (position.speed === null) return this.words("no_speed");
    const parts = [this.speed(position)];
    if (limit !== null) parts.push(this.words("limit", { limit: KMH.format(limit) }));
    if (position.heading !== null) parts.push(this.words("heading", { direction: this.direction(position.heading) }));
    return parts.join(", ");
  }

  age({ ts }) {
    return ago(this.stream.now() - ts);
  }

  direction(degrees) {
    return this.texts.directions.split(",")[Math.round(degrees / 45) % 8];
  }

  showStream({ aloud = false } = {}) {
    const { state } = this.stream;
    this.place.dataset.stream = state;
    const age = new Intl.NumberFormat(LANGUAGE, { style: "unit", unit: "second", unitDisplay: "long" });
    const seconds = Math.round(this.stream.silence() / 1000);
    const key = state === "cut" && this.stream.named === 0 ? "unreached" : state;
    const words = this.words(key, { age: age.format(seconds) });
    setText(this.part("stream-text"), words);
    if (aloud) say(words);
    this.part("sign-in").hidden = state !== "signed_out";
  }

  // ---- What people do ----

  listen() {
    const { place } = this;
    const does = {
      list: () => this.showList(place.dataset.list !== "open"),
      more: () => (this.shown += ROWS),
      close: () => this.back(),
      "close-spot": () => (this.part("spot").hidden = true),
      follow: () => this.follow(this.followed === this.picked ? null : this.picked),
      trail: () => this.picked && this.trail(this.picked),
    };
    place.addEventListener("click", (event) => {
      const button = event.target.closest("[data-do]");
      if (!button) return;
      // The card of a vehicle that is only hovered is picked by using it.
      if (this.hovered && ["follow", "trail"].includes(button.dataset.do)) this.picked = this.hovered;
      does[button.dataset.do]();
      this.now();
    });
    place.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && (this.picked || !this.part("spot").hidden)) this.back();
      const row = event.target.closest?.(".live-list li");
      const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
      if (!row || !step) return;
      event.preventDefault();
      row[step]?.firstElementChild.focus();
    });
    this.part("search").addEventListener("input", (event) => this.want({ text: event.target.value.trim() }));
    for (const name of ["company", "director"]) {
      this.part(name).addEventListener("change", (event) => this.want({ [name]: event.target.value }));
    }
    for (const box of place.querySelectorAll("[data-state-filter]")) {
      box.addEventListener("change", () => {
        const chosen = [...place.querySelectorAll("[data-state-filter]:checked")].map((each) => each.dataset.stateFilter);
        this.want({ states: new Set(chosen) });
      });
    }
    for (const name of ["sort", "labels"]) {
      const select = this.part(name);
      select.value = this.view[name];
      select.addEventListener("change", () => this.look({ [name]: select.value }));
    }
    const clusters = this.part("clusters");
    clusters.checked = this.view.clusters;
    clusters.addEventListener("change", () => this.look({ clusters: clusters.checked }));
    if (matchMedia("(width < 1024px)").matches) this.showList(false);
  }

  want(change) {
    Object.assign(this.wanted, change);
    this.shown = ROWS;
    this.now();
  }

  look(change) {
    Object.assign(this.view, change);
    localStorage.setItem(STORED, JSON.stringify(this.view));
    this.drawing?.look();
    this.now();
  }

  now() {
    this.drawn = -Infinity;
    this.soon();
  }

  showList(open) {
    this.place.dataset.list = open ? "open" : "closed";
    const button = this.place.querySelector("[data-do=list]");
    button.ariaExpanded = String(open);
    button.ariaLabel = button.title = open ? button.dataset.hides : button.dataset.opens;
    this.drawing?.resize();
  }

  /** Close what is picked; the focus returns to the list. */
  back() {
    const row = this.rows.get(this.picked);
    const had = this.part("card").contains(document.activeElement) || this.part("spot").contains(document.activeElement);
    this.pick(null);
    if (had) (row?.firstElementChild ?? this.part("scroll")).focus();
  }
}

/** The state by age, speed and whether the box watches a parked vehicle (spec/positions L5). */
export function stateOf({ ts, speed, parking }, now, rules) {
  const age = now - ts;
  const moving = !parking && speed !== null && speed >= rules.moving;
  if (age > rules.offline || (moving && age > rules.silent)) return "offline";
  if (moving) return "driving";
  return parking || age > rules.silent ? "parked" : "stopped";
}

function ago(elapsed) {
  const seconds = Math.max(Math.floor(elapsed / 1000), 0);
  if (seconds < NOW_S) return text("now");
  const [, unit, size] = UNITS.find(([below]) => seconds < below);
  return AGO.format(-Math.floor(seconds / size), unit).replaceAll(".", "");
}

/** The points of a trail, divided where nothing was reported for `BREAK_MS`. */
function drives(points) {
  const found = [];
  for (const point of points) {
    if (point.ts - found.at(-1)?.at(-1).ts <= BREAK_MS) found.at(-1).push(point);
    else found.push([point]);
  }
  return found;
}

function kilometres(points) {
  let sum = 0;
  for (let at = 1; at < points.length; at += 1) {
    const [one, other] = [points[at - 1], points[at]];
    const east = (other.lon - one.lon) * Math.cos((one.lat * Math.PI) / 180);
    sum += Math.hypot(other.lat - one.lat, east) * 111.195;
  }
  return sum;
}

function has(value, sought) {
  return value?.toLocaleLowerCase(LANGUAGE).includes(sought);
}

/** Write only what differs: a list has hundreds of texts. */
function setText(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

function link(element, address) {
  element.hidden = !address;
  if (address && element.getAttribute("href") !== address) element.href = address;
}

function stored() {
  try {
    return JSON.parse(localStorage.getItem(STORED)) ?? {};
  } catch {
    return {};
  }
}

const place = document.querySelector("[data-live-map]");
if (place) new LiveMap(place);
