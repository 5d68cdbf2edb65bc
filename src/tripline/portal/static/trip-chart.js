// Speed over time, marked where it counts as speeding, with the limit as a step line, dotted where it is assumed; holes are
// shaded. Its cursor is the moment that the map shows; dragging looks closer.
import { colour } from "./colours.js";
import uPlot from "./uplot/uplot.mjs";

const HEIGHT = 200;
const EDGE = 8;

/**
 * Draw the chart; `brushed(first, last)` gets the places of the first and last sample in sight once that changes.
 *
 * `span`: the instants where it begins and ends, by default those of the track. `holes`: spans without a line, shaded.
 * `gap`: samples further apart, ms, are not joined.
 */
export function drawChart(place, track, { zone, language, brushed, span = [track.times[0], track.times.at(-1)], holes = track.noFix, gap = Infinity }) {
  const minutes = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone };
  const clock = new Intl.DateTimeFormat(language, minutes);
  const kmh = new Intl.NumberFormat(language, { style: "unit", unit: "kilometer-per-hour" });
  const exact = new Intl.DateTimeFormat(language, { ...minutes, second: "2-digit" });
  const seconds = track.times.map((time) => time / 1000);
  const [begin, end] = span.map((time) => time / 1000);
  const torn = track.behind(holes);
  let chart;

  const isTorn = (no) => track.times[no] - track.times[no - 1] > gap || torn.has(no);
  /** Ends of the holes in the line, in pixels. */
  const gaps = (drawn, _, first, last, ends) => {
    for (let no = first + 1; no <= last; no += 1) {
      if (isTorn(no)) ends.push([no - 1, no].map((each) => drawn.valToPos(seconds[each], "x", true)));
    }
    return ends.sort((one, other) => one[0] - other[0]);
  };
  /** Shade the holes, each at least as wide as a line. */
  const shade = ({ ctx, bbox, valToPos }) => {
    ctx.save();
    ctx.globalAlpha = 0.3;
    ctx.fillStyle = colour("--ink-soft");
    for (const span of holes) {
      const [from, to] = [span.beginTs, span.endTs].map((at) => Math.min(Math.max(valToPos(at / 1000, "x", true), bbox.left), bbox.left + bbox.width));
      if (to > bbox.left && from < bbox.left + bbox.width) ctx.fillRect(from, bbox.top, Math.max(to - from, 2 * devicePixelRatio), bbox.height);
    }
    ctx.restore();
  };
  /** Draw the line again where it is above the speed that counts. */
  const mark = ({ ctx, bbox, valToPos }) => {
    const placeOf = (at) => Math.min(Math.max(valToPos(at / 1000, "x", true), bbox.left), bbox.left + bbox.width);
    for (const { beginTs, endTs, countedAbove } of track.counted) {
      const [left, right, least] = [placeOf(beginTs), placeOf(endTs), valToPos(countedAbove, "y", true)];
      const [first, last] = [beginTs, endTs].map((at) => track.near(at));
      ctx.save();
      ctx.beginPath();
      ctx.rect(left - devicePixelRatio, bbox.top, right - left + 2 * devicePixelRatio, least - bbox.top);
      ctx.clip();
      ctx.beginPath();
      for (let no = first; no <= last; no += 1) ctx.lineTo(valToPos(seconds[no], "x", true), valToPos(track.speeds[no], "y", true));
      ctx.setLineDash([]);
      ctx.strokeStyle = colour("--over-2");
      ctx.lineWidth = 3 * devicePixelRatio;
      ctx.stroke();
      ctx.restore();
    }
  };
  // A step line begins anew behind a hole: without the edge of its step.
  const whole = (_, __, ___, ____, ends) => ends.map(([from, to]) => [from, to + 2 * devicePixelRatio]);
  const limit = (stroke, dash) => ({ stroke: () => colour(stroke), width: 1.5, dash, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }), gaps: whole });
  const axis = (values) => ({
    stroke: () => colour("--ink-soft"),
    grid: { stroke: () => colour("--line"), width: 1 },
    ticks: { stroke: () => colour("--line"), width: 1 },
    font: `12px ${getComputedStyle(document.body).fontFamily}`,
    values,
  });
  const limits = (assumed) => track.limits.map((each, no) => (track.assumed[no] === assumed ? each : null));
  const options = {
    width: place.clientWidth || 320,
    height: HEIGHT - 2,
    padding: [EDGE, EDGE, 0, 0],
    legend: { show: false },
    // Marks at full hours of the service's time zone.
    tzDate: (second) => uPlot.tzDate(new Date(second * 1000), zone),
    cursor: { y: false, points: { size: 8 }, drag: { x: true, y: false, setScale: true } },
    scales: { x: { time: true, range: (_, least, most) => (least === seconds[0] && most === seconds.at(-1) ? [begin, end] : [least, most]) }, y: { range: (_, __, most) => [0, Math.max(most * 1.1, 20)] } },
    axes: [
      // The mark at the end would be cut.
      axis((_, splits) => splits.map((second) => second === end ? "" : (splits[1] - splits[0] < 60 ? exact : clock).format(second * 1000))),
      axis((_, splits) => splits.map((speed) => kmh.format(speed))),
    ],
    series: [
      {},
      { stroke: () => colour("--speed-3"), width: 1.5, points: { show: false }, gaps },
      limit("--over-2", [6, 3]),
      limit("--ink-soft", [2, 4]),
    ],
    hooks: {
      drawAxes: [shade],
      draw: [mark],
      // Before, it has no scales to find the cursor's place by.
      ready: [() => shown.show(track.moment)],
      setScale: [
        (drawn, scale) => {
          const { min, max } = drawn.scales.x;
          if (scale === "x" && drawn.status) brushed(track.near(min * 1000), track.near(max * 1000));
        },
      ],
      setCursor: [
        (drawn) => {
          if (drawn.cursor.event && drawn.cursor.idx !== null && drawn.cursor.idx !== undefined) track.show(drawn.cursor.idx, "chart");
        },
      ],
    },
  };
  options.axes[0].space = 72;
  options.axes[1].size = 72;
  chart = new uPlot(options, [seconds, track.speeds, limits(false), limits(true)], place);
  // uPlot keeps its axis, selection and cursor in elements without a meaning of their own.
  place.firstElementChild.ariaHidden = "true";
  new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: HEIGHT - 2 })).observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.redraw());

  const showAll = () => chart.setScale("x", { min: begin, max: end });
  place.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 30 : 1;
    const moves = { ArrowLeft: track.moment - far, ArrowRight: track.moment + far, ArrowDown: track.moment - far, ArrowUp: track.moment + far, Home: 0, End: track.length - 1 };
    if (event.key === "Escape") showAll();
    else if (event.key in moves && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      track.show(moves[event.key], "keys");
    }
  });
  place.ariaValueMax = String(track.length - 1);
  for (const each of place.parentElement.querySelectorAll("[data-key]")) {
    const seen = { assumed: track.assumed.includes(true), counted: track.counted.length > 0, "no-fix": holes.length > 0, "no-speed": !track.hasSpeeds, limit: track.limits.some((limit, no) => limit !== null && !track.assumed[no]) };
    each.hidden = !seen[each.dataset.key];
  }
  const shown = {
    /** Put the cursor at a sample. */
    show(place) {
      const left = chart.valToPos(seconds[place], "x");
      const speed = track.speeds[place];
      chart.setCursor({ left, top: speed === null ? 0 : chart.valToPos(speed, "y") }, false);
    },
    /** Look at a part of the trip if the moment is outside the one in sight. */
    reveal(place) {
      const { min, max } = chart.scales.x;
      const at = seconds[place];
      if (at < min || at > max) chart.setScale("x", { min: at - (max - min) / 2, max: at + (max - min) / 2 });
    },
  };
  return shown;
}
