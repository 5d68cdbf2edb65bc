// The stream of live vehicles: one for all tabs of a browser, and what it said so far.
//
// A Web Lock chooses the tab that has the stream; it passes events on over a BroadcastChannel, and each tab stores the
// same state, so the next tab with the lock continues from the same cursor. Without locks (HTTP on another machine) each
// tab has a stream. A stream is cut when nothing came for `CUT_MS`: the server sends something every two seconds.
// Not here: what a page shows of it (`live-map.js`).

const CUT_MS = 4000;
const LOOK_MS = 250;
/** A timer that is so late woke up with its machine: connections from before may be dead without saying so. */
const SLEPT_MS = 8000;
const WAITS_MS = [300, 1000, 2000, 4000];

export class LiveStream extends EventTarget {
  /** Vehicles by id: {id, number, company, director, driver, trip}. */
  vehicles = new Map();
  /** Positions by id of the vehicle: {ts, lat, lon, speed, heading, parking}. */
  positions = new Map();
  /** connecting, live, cut, signed_out, crowded. */
  state = "connecting";
  /** More vehicles are within reach than the stream has. */
  cut = false;
  /** Grows when the vehicles or their names change. */
  named = 0;
  /** Milliseconds by which the server's clock is ahead of this machine's. */
  ahead = 0;

  #address;
  #cursor = "";
  #heard = Date.now();
  #looked = Date.now();
  #channel;
  #leads = false;
  #request = null;
  #failures = 0;
  #retry = null;

  /** `name`: the account, so that tabs of different accounts share nothing. */
  constructor(address, name) {
    super();
    this.#address = address;
    this.#channel = new BroadcastChannel(`live ${name}`);
    this.#channel.onmessage = (event) => this.#told(event.data);
    setInterval(() => this.#look(), LOOK_MS);
    addEventListener("online", () => this.#leads && this.#again(0));
    addEventListener("pagehide", () => this.#request?.abort());
    addEventListener("pageshow", (event) => event.persisted && this.#leads && this.#again(0));
    if (navigator.locks) {
      navigator.locks.request(`live ${name}`, () => this.#lead());
      this.#channel.postMessage({ kind: "hello" });
    } else {
      this.#lead();
    }
  }

  /** The server's present time. */
  now() {
    return Date.now() + this.ahead;
  }

  /** Milliseconds since something came. */
  silence() {
    return Date.now() - this.#heard;
  }

  /** Have the stream of all tabs for as long as this tab is there. */
  #lead() {
    this.#leads = true;
    this.#connect();
    return new Promise(() => {});
  }

  async #connect() {
    clearTimeout(this.#retry);
    this.#request?.abort();
    const request = (this.#request = new AbortController());
    const over = () => request !== this.#request;
    let wait = null;
    try {
      const headers = { "X-Poll": "1", ...(this.#cursor && { "Last-Event-ID": this.#cursor }) };
      const answer = await fetch(this.#address, { headers, signal: request.signal, cache: "no-store" });
      if (answer.status === 401 || answer.status === 403) return this.#pass({ kind: "end", data: { reason: "signed_out" } });
      if (!answer.ok) {
        wait = 1000 * (Number(answer.headers.get("Retry-After")) || 5);
        if (answer.status === 429) this.#pass({ kind: "end", data: { reason: "crowded" } });
      } else {
        const reason = await this.#read(answer.body, over);
        if (reason === "signed_out") return;
        if (reason === "changed") this.#cursor = "";
        if (reason === "crowded") wait = 10_000;
      }
    } catch {
      // Cut off, or given up: another attempt follows.
    }
    if (!over()) this.#again(wait ?? WAITS_MS[Math.min(this.#failures++, WAITS_MS.length - 1)]);
  }

  #again(wait) {
    if (this.state === "signed_out") return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#connect(), wait);
  }

  /** Pass on the events of a body until it ends; the reason that its last event names, if it came. */
  async #read(body, over) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const pieces = [];
    for (;;) {
      const { value, done } = await reader.read();
      if (done || over()) return undefined;
      if (!value.includes("\n\n") && !(value.startsWith("\n") && pieces.at(-1)?.endsWith("\n"))) {
        pieces.push(value);
        continue;
      }
      pieces.push(value);
      const blocks = pieces.splice(0).join("").split("\n\n");
      pieces.push(blocks.pop());
      for (const block of blocks) {
        const event = eventOf(block);
        if (!event) continue;
        this.#failures = 0;
        this.#pass(event);
        if (event.kind === "end") return event.data.reason;
      }
    }
  }

  /** Take an event, and give it to the other tabs. */
  #pass(event) {
    this.#channel.postMessage(event);
    this.#take(event);
  }

  /** Another tab said this. */
  #told(event) {
    if (event.kind === "hello") {
      if (this.#leads && this.#cursor) this.#channel.postMessage({ kind: "state", data: this.#whole() });
    } else if (event.kind === "silent") {
      // Timers of a hidden tab are slow: the one that is looked at says that nothing comes.
      if (this.#leads) this.#look();
    } else if (!this.#leads) {
      this.#take(event);
    }
  }

  #whole() {
    const { vehicles, positions, cut, ahead, state } = this;
    return { vehicles, positions, cut, ahead, state, cursor: this.#cursor };
  }

  #take({ kind, data, id }) {
    this.#heard = Date.now();
    if (kind === "state") {
      this.#cursor = data.cursor;
      for (const name of ["vehicles", "positions", "cut", "ahead"]) this[name] = data[name];
      this.named += 1;
      this.dispatchEvent(new Event("change"));
    } else if (kind === "vehicles") {
      this.#name(data);
      this.dispatchEvent(new Event("change"));
    } else if (kind === "positions") {
      for (const [id, ts, lat, lon, speed, heading, parking] of data) {
        this.positions.set(id, { ts, lat, lon, speed, heading, parking });
      }
      this.dispatchEvent(new Event("change"));
    } else if (kind === "beat") {
      this.ahead = data.now - Date.now();
      this.#cursor = id;
    }
    if (kind === "end") this.#become({ signed_out: "signed_out", crowded: "crowded" }[data.reason] ?? this.state);
    else this.#become(kind === "state" ? data.state : "live");
  }

  #name({ whole, vehicles, gone, cut }) {
    const before = this.vehicles;
    if (whole) this.vehicles = new Map();
    for (const [id, number, company, director, driver, trip] of vehicles) {
      this.vehicles.set(id, { id, number, company, director, driver, trip });
    }
    for (const id of whole ? before.keys() : gone) {
      if (whole && this.vehicles.has(id)) continue;
      this.vehicles.delete(id);
      this.positions.delete(id);
    }
    this.cut = cut;
    this.named += 1;
  }

  #become(state) {
    if (state === this.state || this.state === "signed_out") return;
    this.state = state;
    this.dispatchEvent(new Event("state"));
  }

  /** See whether something came lately, and whether the machine slept. */
  #look() {
    const slept = Date.now() - this.#looked > SLEPT_MS;
    this.#looked = Date.now();
    if (this.state === "signed_out") return;
    const silent = this.silence() > CUT_MS;
    if (silent && ["connecting", "live"].includes(this.state)) this.#become("cut");
    if (!silent) return;
    if (!this.#leads) this.#channel.postMessage({ kind: "silent" });
    else if (slept || this.silence() % CUT_MS < LOOK_MS) this.#connect();
  }
}

/** Kind, data and id of an event; undefined for a comment. */
function eventOf(block) {
  let kind, id, data;
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("id: ")) id = line.slice(4);
    else if (line.startsWith("data: ")) data = line.slice(6);
  }
  return kind && data ? { kind, id, data: JSON.parse(data) } : undefined;
}
