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
export const isAssumed = (limitSource) => limitSource === "roadClass" || limitSource === "default";

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
      ...harshEvents.map((each) => ({ kind: each.eventTy, at: each.eventTs, point: [each.posLon, each.posLat], cost: each.cost, event: each })),
      ...overspeed.map((each) => ({ kind: 5, at: each.beginTs, point: [each.posLon, each.posLat], cost: each.cost, event: each })),
    ].sort((one, other) => one.at - other.at);
    this.moment = 0;
    this.listeners = [];
  }

  get length() {
    return this.times.length;
  }

  /** False: the device sent no speeds. */
  get hasSpeeds() {
    return this.speeds.some((speed) => speed !== null);
  }

  /** Call back with the place of each new moment, and with who chose it. */
  onMoment(listener) {
    this.listeners.push(listener);
  }

  /** Show the sample at a place; `by` names the part that chose it. */
  show(place, by = "") {
    this.moment = Math.max(0, Math.min(this.length - 1, Math.round(place)));
    for (const listener of this.listeners) listener(this.moment, by);
  }

  /** The place of the sample nearest to an instant. */
  near(at) {
    let [low, high] = [0, this.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] < at) low = middle + 1;
      else high = middle;
    }
    return low > 0 && at - this.times[low - 1] < this.times[low] - at ? low - 1 : low;
  }

  /** The position at an instant, between two samples. */
  pointAt(at) {
    const next = this.times.findIndex((time) => time >= at);
    if (next <= 0) return this.points[next < 0 ? this.length - 1 : 0];
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

  /** Whether one of these spans lies between a sample and the one before. */
  isBehind(no, spans) {
    return spans.some(({ beginTs, endTs }) => this.times[no - 1] <= beginTs && endTs <= this.times[no]);
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
