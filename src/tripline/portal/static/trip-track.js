// A trip's track over REST, and the moment of it that map, chart, table and replay show together.

/** Fetch the track that `place` names, and show its part for a track, none or a failure. Returns null without a track. */
export async function openTrack(place) {
  const track = await fetchTrack(place.dataset.track).catch(() => null);
  const state = !track ? "failed" : track.length ? "drawn" : "none";
  for (const each of ["state", "none", "failed", "drawn"]) {
    place.querySelector(`[data-part="${each}"]`).hidden = each !== state;
  }
  return state === "drawn" ? track : null;
}

async function fetchTrack(address) {
  // Without headers of its own: the page's link preloads exactly this request.
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`track: ${answer.status}`);
  return new Track(await answer.json());
}

/** Whether a limit from this source is assumed, because the map does not state it. */
const isAssumed = (limitSource) => limitSource === "roadClass" || limitSource === "default";

/** Least time without a report that counts as a hole, ms. */
const SILENT_MS = 30_000;

export class Track {
  constructor({ count, samples, noFix, limits = [], harshEvents = [], overspeed = [] }) {
    this.all = count;
    this.times = samples.ts;
    this.points = samples.lon.map((lon, no) => [lon, samples.lat[no]]);
    this.speeds = samples.speed;
    this.noFix = noFix;
    const runs = this.#runsOf(limits);
    this.limits = runs.map((run) => run?.limit ?? null);
    this.assumed = runs.map((run) => isAssumed(run?.limitSource));
    this.events = [
      ...harshEvents.map((each) => ({ kind: each.eventTy, at: each.eventTs, point: [each.posLon, each.posLat] })),
      ...overspeed.map((each) => ({ kind: 5, at: each.beginTs, point: [each.posLon, each.posLat] })),
    ].sort((one, other) => one.at - other.at);
    /** Stretches over the limit that cost points. */
    this.counted = overspeed.filter((each) => each.annulled === null);
    this.moment = 0;
    /** The event that is shown; null: only a moment. */
    this.event = null;
    this.listeners = [];
  }

  get length() {
    return this.times.length;
  }

  /** False: the device sent no speeds. */
  get hasSpeeds() {
    return this.speeds.some((speed) => speed !== null);
  }

  /** Call back with the place of each new moment, and with the part that chose it. */
  onMoment(listener) {
    this.listeners.push(listener);
  }

  /** Show the sample at a place, of an event if there is one; `by` names the part that chose it. */
  show(place, by = "", event = null) {
    this.event = event;
    this.moment = Math.max(0, Math.min(this.length - 1, Math.round(place)));
    for (const listener of this.listeners) listener(this.moment, by);
  }

  /** Show an event. */
  showEvent(event, by) {
    this.show(this.near(event.at), by, event);
  }

  /** The event after the one that is shown, or after this moment; after the last one the first. */
  get nextEvent() {
    const shown = this.events.indexOf(this.event);
    const now = this.times[this.moment];
    return (shown >= 0 ? this.events[shown + 1] : this.events.find((each) => this.times[this.near(each.at)] > now)) ?? this.events[0];
  }

  /** The place of the first sample at an instant or later; of the last sample if there is none. */
  #from(at) {
    let [low, high] = [0, this.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The place of the sample nearest to an instant. */
  near(at) {
    const low = this.#from(at);
    return low > 0 && at - this.times[low - 1] < this.times[low] - at ? low - 1 : low;
  }

  /** The position at an instant, between two samples. */
  pointAt(at) {
    const next = this.#from(at);
    if (next === 0 || this.times[next] <= at) return this.points[next];
    const [from, to] = [this.times[next - 1], this.times[next]];
    const share = (at - from) / (to - from);
    const [one, other] = [this.points[next - 1], this.points[next]];
    return [one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share];
  }

  /** How much faster than the limit, km/h; null where one of the two is not known. */
  excess(place) {
    const [speed, limit] = [this.speeds[place], this.limits[place]];
    return speed === null || limit === null ? null : speed - limit;
  }

  /** Whether the time from each sample to the next one counts as speeding. */
  speeding() {
    let stretch = 0;
    return this.times.map((at) => {
      while (stretch < this.counted.length && this.counted[stretch].endTs <= at) stretch += 1;
      return stretch < this.counted.length && this.counted[stretch].beginTs <= at;
    });
  }

  /** West, south, east, north of the samples between two places; of all by default. */
  bounds(first = 0, last = this.length - 1) {
    let [west, south, east, north] = [180, 90, -180, -90];
    for (const [lon, lat] of this.points.slice(first, last + 1)) {
      west = Math.min(west, lon);
      east = Math.max(east, lon);
      south = Math.min(south, lat);
      north = Math.max(north, lat);
    }
    return west <= east ? [west, south, east, north] : undefined;
  }

  /** Spans without a position, and without a report: of more than half a minute, and three times as long as usual here. */
  holes() {
    const steps = this.times.slice(1).map((at, no) => at - this.times[no]);
    const usual = steps.toSorted((one, other) => one - other)[steps.length >> 1] ?? 0;
    const silent = steps.flatMap((step, no) => (step > Math.max(SILENT_MS, 3 * usual) ? [{ beginTs: this.times[no], endTs: this.times[no + 1] }] : []));
    const isIn = (span, other) => other.beginTs <= span.beginTs && span.endTs <= other.endTs;
    return [...silent, ...this.noFix.filter((lost) => !silent.some((span) => isIn(lost, span)))];
  }

  /** Places of the samples that have one of these spans between them and the sample before. */
  behind(spans) {
    const places = spans.map(({ beginTs, endTs }) => [this.#from(endTs), beginTs, endTs]);
    return new Set(places.filter(([no, begin, end]) => no > 0 && this.times[no - 1] <= begin && end <= this.times[no]).map(([no]) => no));
  }

  #runsOf(runs) {
    let run = 0;
    return this.times.map((at) => {
      while (run < runs.length - 1 && runs[run + 1].beginTs <= at) run += 1;
      const found = runs[run];
      return found && found.beginTs <= at && at <= found.endTs ? found : null;
    });
  }
}
