// A trip's page: draws its track on the map and as a chart, shows one moment in both, replays it. Without scripts the
// page has everything else. Texts come from the page, in its language.
import { momentWords } from "./moments.js";
import { say } from "./page.js";
import { drawChart } from "./trip-chart.js";
import { drawMap } from "./trip-map.js";
import { Replay } from "./trip-replay.js";
import { isAssumed, openTrack } from "./trip-track.js";

const LANGUAGE = document.documentElement.lang;
const place = document.querySelector("[data-trip]");
if (place) open();

async function open() {
  const texts = JSON.parse(place.dataset.texts);
  const shapes = JSON.parse(place.dataset.shapes);
  const part = (name) => place.querySelector(`[data-part="${name}"]`);
  const track = await openTrack(place);
  if (!track) return;
  const points = new Intl.NumberFormat(LANGUAGE, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const words = momentWords(texts, place.dataset.zone);
  const { clock, filled, number, speed } = words;
  part("thinned").textContent = words.thinned(track);
  place.querySelector(".trip-tools").hidden = !track.hasSpeeds;

  /** Decimals that tell the speed from the one above which it counts. */
  const decimals = ({ maxSpeed, countedAbove }) => Number(Math.round(maxSpeed) <= Math.round(countedAbove));
  const limited = (event) =>
    filled(isAssumed(event.limitSource) ? "limit_assumed" : "limit", { limit: speed(event.limit), counted: speed(event.countedAbove, decimals(event)) });

  /** What an event was, in words. */
  function told({ kind, at, cost, event }) {
    const what = `${texts[shapes[kind]]}, ${clock.format(at)}`;
    const measured = kind === 5 ? speed(event.maxSpeed, decimals(event)) : `${number.format(event.beginSpeed)} – ${speed(event.endSpeed)}`;
    const allowed = kind === 5 ? limited(event) : event.threshold ? filled("below", { rate: filled("rate", { value: points.format(event.threshold) }), when: texts[`threshold.${event.thresholdName}`] }) : "–";
    return filled("event_at", { what, measured, allowed, points: points.format(cost) });
  }

  const holes = track.holes();
  const chartPlace = part("chart");
  let map = null;
  let replay = null;
  const chart = drawChart(chartPlace, track, {
    zone: place.dataset.zone,
    language: LANGUAGE,
    holes,
    brushed: (first, last) => {
      if (!replay?.running) map?.showPart(first, last);
      for (const link of document.querySelectorAll("[data-moment]")) {
        const at = Number(link.dataset.moment);
        link.closest("tr")?.classList.toggle("outside", at < track.times[first] || at > track.times[last]);
      }
    },
  });
  drawMap(place.querySelector("[data-map]"), track, { icons: place.dataset.icons, shapes, told, holes }).then((drawn) => {
    map = drawn;
    map?.colourBy(place.querySelector("[name=trip-colour]:checked").value);
    map?.moveTo(track.points[track.moment]);
  });

  const play = place.querySelector('[data-do="play"]');
  replay = new Replay(
    track,
    (at, no) => {
      if (no !== track.moment) track.show(no, "replay");
      map?.moveTo(track.pointAt(at));
    },
    () => {
      play.ariaPressed = "false";
      play.textContent = texts.play;
      remember();
    },
  );

  track.onMoment((no, by) => {
    const event = by === "event" || by === "table" ? track.events.find((each) => track.near(each.at) === no) : undefined;
    const moment = words.sample(track, no);
    const here = event ? `${moment}. ${told(event)}` : moment;
    part("at").textContent = here;
    chartPlace.ariaValueNow = String(no);
    chartPlace.ariaValueText = here;
    if (by !== "chart") chart.show(no);
    if (by === "replay") chart.reveal(no);
    else {
      replay.from(no);
      map?.moveTo(track.points[no]);
      if (by !== "map" && by !== "chart") {
        chart.reveal(no);
        map?.reveal(track.points[no]);
      }
    }
    mark(track.times[no]);
    if (by === "keys" || by === "event" || by === "table") remember();
  });

  /** Mark the row of an event at this instant. */
  function mark(at) {
    for (const link of document.querySelectorAll("[data-moment]")) {
      link.closest("tr")?.classList.toggle("at", Math.abs(Number(link.dataset.moment) - at) < 1000);
    }
  }

  /** Put the moment into the address. */
  function remember() {
    history.replaceState(history.state, "", `#t=${track.times[track.moment]}`);
  }

  for (const choice of place.querySelectorAll("[name=trip-colour]")) {
    choice.addEventListener("change", () => {
      map?.colourBy(choice.value);
      for (const legend of place.querySelectorAll("[data-legend]")) legend.hidden = legend.dataset.legend !== choice.value;
    });
  }
  play.addEventListener("click", () => {
    if (replay.running) replay.pause();
    else {
      replay.play();
      play.ariaPressed = "true";
      play.textContent = texts.pause;
    }
  });
  part("pace").addEventListener("change", (event) => (replay.pace = Number(event.target.value)));
  place.querySelector('[data-do="next-event"]').addEventListener("click", () => {
    const now = track.times[track.moment];
    const event = track.events.find((each) => track.times[track.near(each.at)] > now) ?? track.events[0];
    if (!event) return;
    track.show(track.near(event.at), "event");
    say(told(event));
  });
  const follow = place.querySelector('[data-do="follow"]');
  follow.addEventListener("click", () => {
    if (!map) return;
    map.follows = !map.follows;
    follow.ariaPressed = String(map.follows);
    map.moveTo(track.points[track.moment]);
  });
  place.querySelector('[data-do="link"]').addEventListener("click", async () => {
    remember();
    await navigator.clipboard?.writeText(location.href);
    say(texts.linked);
  });

  const asked = () => Number(/^#t=(\d+)$/.exec(location.hash)?.[1] ?? NaN);
  addEventListener("hashchange", () => Number.isFinite(asked()) && track.show(track.near(asked()), "table"));
  track.show(Number.isFinite(asked()) ? track.near(asked()) : 0);
}
