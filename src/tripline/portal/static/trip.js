// A trip's page: draws its track on the map and as a chart, shows one moment in both, replays it. Without scripts the
// page has everything else. Texts come from the page, in its language.
import { momentWords } from "./moments.js";
import { say } from "./page.js";
import { drawChart } from "./trip-chart.js";
import { drawMap } from "./trip-map.js";
import { Replay } from "./trip-replay.js";
import { openTrack } from "./trip-track.js";

const LANGUAGE = document.documentElement.lang;
const place = document.querySelector("[data-trip]");
if (place) open();

async function open() {
  const texts = JSON.parse(place.dataset.texts);
  const shapes = JSON.parse(place.dataset.shapes);
  const part = (name) => place.querySelector(`[data-part="${name}"]`);
  const track = await openTrack(place);
  if (!track) return;
  const words = momentWords(texts, place.dataset.zone);
  const links = [...document.querySelectorAll("[data-moment]")];
  const nameOf = ({ kind, at }) => `${shapes[kind]}-${at}`;
  part("thinned").textContent = words.thinned(track);
  place.querySelector(".trip-tools").hidden = !track.hasSpeeds;
  place.querySelector('[data-excess="unknown"]').hidden = track.times.every((_, no) => track.excess(no) !== null);

  /** What an event was, in the words of its row; events beyond the table have only their kind and time. */
  function told(event) {
    const link = links.find((each) => each.dataset.event === nameOf(event));
    return link?.dataset.told ?? `${texts[shapes[event.kind]]}, ${words.clock.format(event.at)}`;
  }

  const holes = track.holes();
  part("unknown-way").hidden = !holes.length;
  const chartPlace = part("chart");
  let map = null;
  let replay = null;
  const chart = drawChart(chartPlace, track, {
    zone: place.dataset.zone,
    language: LANGUAGE,
    holes,
    brushed: (first, last) => {
      if (!replay?.running) map?.showPart(first, last);
      for (const link of links) {
        const at = Number(link.dataset.moment);
        link.closest("tr")?.classList.toggle("outside", at < track.times[first] || at > track.times[last]);
      }
    },
  });
  drawMap(place.querySelector("[data-map]"), track, { icons: place.dataset.icons, shapes, told: (events) => events.map(told).join("\n"), ends: [texts["map.begin"], texts["map.end"]], holes }).then((drawn) => {
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
    const moment = words.sample(track, no);
    const here = track.event ? `${moment}. ${told(track.event)}` : moment;
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
    mark();
    if (by === "keys" || by === "event" || by === "table") remember();
  });

  /** Mark the row of the event that is shown, else the rows of this instant. */
  function mark() {
    const isShown = ({ moment, event }) => (track.event ? event === nameOf(track.event) : Math.abs(Number(moment) - track.times[track.moment]) < 1000);
    for (const link of links) link.closest("tr")?.classList.toggle("at", isShown(link.dataset));
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
    const event = track.nextEvent;
    if (!event) return;
    track.showEvent(event, "event");
    say(told(event));
  });
  for (const link of links) {
    link.addEventListener("click", (click) => {
      const event = track.events.find((each) => nameOf(each) === link.dataset.event);
      // Braking and corners are events of the table alone: the address names their moment.
      if (!event || click.ctrlKey || click.metaKey) return;
      click.preventDefault();
      track.showEvent(event, "table");
    });
  }
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
