// A vehicle's day: draws its track on the map and its speed over the day, and shows one moment in both; [ and ] lead to
// the days around it. Without scripts the page has everything else.
import { momentWords } from "./moments.js";
import { isTyping } from "./page.js";
import { drawChart } from "./trip-chart.js";
import { drawMap } from "./trip-map.js";
import { openTrack } from "./trip-track.js";

/** The chart has no line between two samples further apart: the vehicle made no trip. */
const GAP_MS = 600_000;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  document.querySelector(`[data-day-key="${CSS.escape(event.key)}"]`)?.click();
});

const place = document.querySelector("[data-day]");
if (place) open();

async function open() {
  const part = (name) => place.querySelector(`[data-part="${name}"]`);
  const texts = JSON.parse(place.dataset.texts);
  const words = momentWords(texts, place.dataset.zone);
  const track = await openTrack(place);
  if (!track) return;
  part("thinned").textContent = words.thinned(track);
  const chartPlace = part("chart");
  let map = null;
  const chart = drawChart(chartPlace, track, {
    zone: place.dataset.zone,
    language: document.documentElement.lang,
    span: [Number(place.dataset.begin), Number(place.dataset.end)],
    gap: GAP_MS,
    brushed: (first, last) => map?.showPart(first, last),
  });
  track.onMoment((no, by) => {
    const here = words.sample(track, no);
    part("at").textContent = here;
    chartPlace.ariaValueNow = String(no);
    chartPlace.ariaValueText = here;
    if (by !== "chart") chart.show(no);
    map?.moveTo(track.points[no]);
    if (by === "keys") {
      chart.reveal(no);
      map?.reveal(track.points[no]);
    }
  });
  track.show(0);
  map = await drawMap(place.querySelector("[data-map]"), track, { icons: place.dataset.icons, shapes: {}, told: () => "" });
  map?.moveTo(track.points[track.moment]);
}
