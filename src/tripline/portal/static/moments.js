// The words for a moment of a track: time, speed and limit. Texts come from the page, in its language.

const LANGUAGE = document.documentElement.lang;

/** Words with these texts, in a time zone. */
export function momentWords(texts, timeZone) {
  const number = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 0 });
  const kmh = new Intl.NumberFormat(LANGUAGE, { style: "unit", unit: "kilometer-per-hour", maximumFractionDigits: 0 });
  const clock = new Intl.DateTimeFormat(LANGUAGE, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone });
  const filled = (name, values) => texts[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
  const speed = (value) => (value === null ? texts.no_speed : kmh.format(value));
  return {
    clock,
    /** How many samples of a track are drawn; empty for all. */
    thinned: ({ all, length }) => (all > length ? filled("thinned", { shown: number.format(length), all: number.format(all) }) : ""),
    /** Time, speed and limit of a sample. */
    sample(track, no) {
      const limit = track.limits[no];
      const name = limit === null ? "at_unknown" : track.assumed[no] ? "at_assumed" : "at";
      const values = { time: clock.format(track.times[no]), speed: speed(track.speeds[no]), limit: limit === null ? "" : speed(limit) };
      return filled(name, values);
    },
  };
}
