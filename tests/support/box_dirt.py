"""Kinds of dirt that boxes in the field send, each made from a clean drive.

    for name, kind in KINDS.items():
        drive = kind.make(clean)

A drive is a dictionary of columns as in `dirty.py`: `t` (seconds), `lat`, `lon`, `speed` (km/h, NaN where missing), in
the order received. Some kinds add `nos` and `dop` (satellites, dilution of precision), which go out under these keys.
`clean` has one sample a second and is the clean drive itself, for instance one of `test_real_drives.recordings()` with
`t` from 0. The kernel takes a drive by `made_drives.drives`; a test over the wire sends each row as one item.

What holds of the dirty drive: its score is within 2 points of the clean one's; where `refused` is set, it may also be
refused with this reason, and must be where `always`. Where `harsh` is false its harsh events may be unknown: then the
clean drive's score without them counts. A kind that is `wire` shows only where times are compared with their receipt;
it is sent live, or at least on the day on which the drive ends.

Two sensors on one vehicle: `SECOND_SENSOR` makes what the second one sends.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from tests.support import dirty
from tests.support.dirty import Drive, Fault

WEEKS_S: Final = 1_024 * 7 * 86_400.0
"""What a receiver is behind once the number of its week starts again."""
POINTS: Final = 2.0
"""Greatest difference from the clean drive's score."""


class Kind(NamedTuple):
    """How to make a dirty drive, and how it has to be judged."""

    make: Fault
    refused: str | None = None
    always: bool = False
    harsh: bool = True
    wire: bool = False

    def permits(self, reason: str | None, score: float | None, *, clean: float, unharsh: float) -> bool:
        """True if a dirty drive may have this reason for no score, or this score.

        `clean`: the clean drive's score; `unharsh`: the same without its harsh events.
        """
        if score is None:
            return reason is not None and reason == self.refused
        right = [clean] if self.harsh else [clean, unharsh]
        return not self.always and min(abs(score - each) for each in right) <= POINTS


def town(seed: int, *, kmh: tuple[float, ...] = (22.0, 28.0, 34.0)) -> Drive:
    """A clean drive of 20 minutes at these speeds, calm but for one harsh start; the same for the same seed."""
    rng = np.random.default_rng([15, seed])
    begins = np.arange(13, 1_200, 25)
    steady = rng.choice(kmh, begins.size)
    knots = [0, 9, *np.stack([begins, begins + 21], axis=1).ravel(), 1_220, 1_230]
    true = np.interp(t := np.arange(1_230.0), knots, [0, 0, *np.repeat(steady, 2), 0, 0])
    true[9:13] = [0, 12, steady[0], steady[0]]
    metres = np.cumsum(np.append(0, (true[1:] + true[:-1]) / 7.2))
    drift = np.cumsum(rng.normal(0, 0.15, (2, t.size)), axis=1)
    still = {"t": t, "lat": np.full(t.size, 36.5), "lon": np.full(t.size, 127.5)}
    speed = np.where(true > 0, true + rng.normal(0, 0.3, t.size), 0).round(1)
    return dirty.moved(still | {"speed": speed}, slice(None), metres + drift[0], drift[1])


def calm(drive: Drive, count: int, seconds: int, *, least: float = 15.0, most: float = 200.0) -> list[int]:
    """Up to so many samples, far apart, from which on the vehicle moves calmly for so long (km/h: least to most)."""
    speed = drive["speed"]
    change = np.abs(np.diff(speed, append=speed[-1]))
    usual = np.diff(drive["t"], append=drive["t"][-1]) < 1.5
    fine = (speed >= least) & (speed <= most) & (change < 5) & usual
    around = np.lib.stride_tricks.sliding_window_view(fine, seconds + 16).all(axis=1)
    found: list[int] = []
    for at in (np.flatnonzero(around) + 8).tolist():
        if not found or at >= found[-1] + seconds + 20:
            found.append(at)
    chosen = np.unique(np.linspace(0, len(found) - 1, min(count, len(found))).round().astype(int))
    return [found[each] for each in chosen]


def lost_fix(seconds: int, *, least: float = 15.0, most: float = 200.0, told: bool = False) -> Fault:
    """No fix, four times: the last position with speed 0; `told`: with no satellites."""

    def make(drive: Drive) -> Drive:
        lat, lon, speed = drive["lat"].copy(), drive["lon"].copy(), drive["speed"].copy()
        nos, dop = np.full(speed.size, 9), np.full(speed.size, 1.1)
        for at in calm(drive, 4, seconds, least=least, most=most):
            rows = slice(at, at + seconds)
            lat[rows], lon[rows], speed[rows], nos[rows], dop[rows] = lat[at - 1], lon[at - 1], 0, 0, 99
        return drive | {"lat": lat, "lon": lon, "speed": speed} | ({"nos": nos, "dop": dop} if told else {})

    return make


def faster(kmh: float, seconds: int) -> Fault:
    """A speed that is too high for some seconds, six times."""

    def make(drive: Drive) -> Drive:
        speed = drive["speed"].copy()
        for at in calm(drive, 6, seconds):
            speed[at : at + seconds] += kmh
        return drive | {"speed": speed}

    return make


def zero_speed(seconds: int) -> Fault:
    """Speed 0 for some seconds, four times, while positions go on."""

    def make(drive: Drive) -> Drive:
        speed = drive["speed"].copy()
        for at in calm(drive, 4, seconds):
            speed[at : at + seconds] = 0
        return drive | {"speed": speed}

    return make


def frozen_speed(seconds: int) -> Fault:
    """A speed that stays for some seconds, four times, and then jumps to the right one."""

    def make(drive: Drive) -> Drive:
        speed = drive["speed"].copy()
        moments = sorted(calm(drive, 100, seconds), key=lambda at: -abs(speed[at + seconds] - speed[at]))
        for at in moments[:4]:
            speed[at : at + seconds] = speed[at]
        return drive | {"speed": speed}

    return make


def twice(drive: Drive) -> Drive:
    """One time in twenty comes twice, the second with speed 0."""
    again = np.random.default_rng(11).random(drive["t"].size) < 0.05
    rows = np.repeat(np.arange(again.size), 1 + again)
    second = np.append(False, rows[1:] == rows[:-1])
    found = dirty.rows_of(drive, rows)
    return found | {"speed": np.where(second, 0.0, found["speed"])}


def renewed(every: int) -> Fault:
    """Positions are renewed every so many seconds only."""

    def make(drive: Drive) -> Drive:
        rows = np.arange(drive["t"].size) // every * every
        return drive | {"lat": drive["lat"][rows], "lon": drive["lon"][rows]}

    return make


def tunnel(drive: Drive) -> Drive:
    """Positions stay for a minute while the wheels tell the speed."""
    speed, lat, lon = drive["speed"], drive["lat"].copy(), drive["lon"].copy()
    at = max(range(10, speed.size - 70), key=lambda row: float(speed[row : row + 60].min()))
    lat[at : at + 60], lon[at : at + 60] = lat[at - 1], lon[at - 1]
    return drive | {"lat": lat, "lon": lon}


def old_fix(drive: Drive) -> Drive:
    """The first minute of moving has the old position of 1 km away."""
    end = int(np.argmax(drive["speed"] > 10)) + 60
    lat, lon = drive["lat"].copy(), drive["lon"].copy()
    lat[:end], lon[:end] = lat[0] + 1_000 / dirty.METRES_PER_DEGREE, lon[0]
    return drive | {"lat": lat, "lon": lon}


def rounded(step: Callable[[Any], Any]) -> Fault:
    """Whole km/h."""
    return lambda drive: drive | {"speed": step(drive["speed"])}


def resampled(offsets: list[float]) -> Fault:
    """Samples at these parts of each second, between those of the drive; speeds in tenths."""

    def make(drive: Drive) -> Drive:
        t = (drive["t"][:-1, np.newaxis] + np.array(offsets)).ravel()
        t = t[np.append(True, np.diff(t) > 0)]
        found = {name: np.interp(t, drive["t"], drive[name]) for name in ("lat", "lon", "speed")}
        return drive | found | {"t": t, "speed": found["speed"].round(1)}

    return make


def hour_ahead(drive: Drive) -> Drive:
    """The clock is an hour ahead for 100 samples."""
    t = drive["t"].copy()
    half = t.size // 2
    t[half : half + 100] += 3_600
    return drive | {"t": t}


def weeks_behind(part: float) -> Fault:
    """The clock is 1,024 weeks behind in this part of the drive, its first one."""

    def make(drive: Drive) -> Drive:
        t = drive["t"].copy()
        t[: round(t.size * part)] -= WEEKS_S
        return drive | {"t": t}

    return make


def two_receivers(drive: Drive) -> Drive:
    """Two receivers with one token whose clocks are 40 s apart."""
    rows = np.repeat(np.arange(drive["t"].size), 2)
    found = dirty.rows_of(drive, rows)
    return found | {"t": found["t"] - np.where(np.arange(rows.size) % 2, 40.0, 0.0)}


def no_speed(metres: float) -> Fault:
    """No speeds, and white noise on positions."""
    return lambda drive: dirty.no_speed(dirty.noise(drive, metres))


def exact(drive: Drive) -> Drive:
    """Positions as far apart as speeds say, at uneven times, without speeds."""
    scale = np.cos(np.radians(drive["lat"][0]))
    north, east = np.diff(drive["lat"]), np.diff(drive["lon"]) * scale
    length = np.maximum(np.hypot(north, east), 1e-12)
    mean = (drive["speed"][1:] + drive["speed"][:-1]) / 7.2
    metres = mean * np.diff(drive["t"]) / dirty.METRES_PER_DEGREE
    lat = drive["lat"][0] + np.append(0, np.cumsum(north / length * metres))
    lon = drive["lon"][0] + np.append(0, np.cumsum(east / length * metres)) / scale
    rows = np.cumsum(np.random.default_rng(12).integers(1, 5, drive["t"].size))
    return dirty.no_speed(dirty.rows_of(drive | {"lat": lat, "lon": lon}, rows[rows < drive["t"].size]))


def one_place(north_m: float, east_m: float) -> Fault:
    """One position in twenty is the same place, so far from the start."""

    def make(drive: Drive) -> Drive:
        elsewhere = np.random.default_rng(13).random(drive["t"].size) < 0.05
        lat = drive["lat"][0] + north_m / dirty.METRES_PER_DEGREE
        lon = drive["lon"][0] + east_m / dirty.METRES_PER_DEGREE / np.cos(np.radians(lat))
        return drive | {"lat": np.where(elsewhere, lat, drive["lat"]), "lon": np.where(elsewhere, lon, drive["lon"])}

    return make


def parked(drive: Drive) -> Drive:
    """Parked for an hour at the end, with 3 m of noise."""
    seconds = 3_600
    rng = np.random.default_rng(14)
    rows = np.append(np.arange(drive["t"].size), np.full(seconds, drive["t"].size - 1))
    longer = dirty.rows_of(drive, rows)
    longer["t"][-seconds:] += 1 + np.arange(seconds)
    longer["speed"][-seconds:] = 0
    return dirty.moved(longer, slice(-seconds, None), rng.normal(0, 3, seconds), rng.normal(0, 3, seconds))


def _units() -> dict[str, Kind]:
    factors = {
        "0.1 km/h": 10, "cm/s": 100 / 3.6, "mm/s": 1_000 / 3.6, "m/s": 1 / 3.6, "knots": 1 / 1.852,
        "mph": 1 / 1.609344, "always 0": 0,
    }  # fmt: skip
    refused = "speed_implausible"
    return {f"speeds in {unit}": Kind(dirty.in_unit(factor), refused, always=True) for unit, factor in factors.items()}


KINDS: Final[dict[str, Kind]] = {
    **{
        f"fix lost for {seconds} s {where} 36 km/h": Kind(lost_fix(seconds, **bounds))
        for seconds in (2, 3, 5, 10)
        for where, bounds in (("below", {"most": 36.0}), ("above", {"least": 36.0}))
    },
    "fix lost for 3 s, told": Kind(lost_fix(3, told=True)),
    "+25 km/h for 2 s": Kind(faster(25, 2)),
    "+15 km/h for 4 s": Kind(faster(15, 4)),
    **{f"speed 0 for {seconds} s": Kind(zero_speed(seconds), "speed_implausible") for seconds in (2, 5, 20)},
    **{f"speed frozen for {seconds} s": Kind(frozen_speed(seconds)) for seconds in (5, 20)},
    "5 % of speeds missing": Kind(dirty.some_missing),
    "5 % of times twice": Kind(twice),
    **{f"positions every {every} s": Kind(renewed(every)) for every in (3, 5, 10)},
    "positions frozen for 60 s": Kind(tunnel),
    "old fix 1 km away": Kind(old_fix),
    **_units(),
    "whole km/h": Kind(rounded(np.round)),
    "whole km/h, cut down": Kind(rounded(np.floor)),
    **{f"{rate} Hz": Kind(resampled([(at + 1) / rate for at in range(rate)])) for rate in (2, 5, 10)},
    "bursts": Kind(resampled([0.6, 0.7, 0.8, 0.9, 1.0])),
    "an hour ahead for 100 samples": Kind(hour_ahead, "clock"),
    "1,024 weeks behind in part": Kind(weeks_behind(0.5), "clock", wire=True),
    "1,024 weeks behind": Kind(weeks_behind(1), "clock", always=True, wire=True),
    "two receivers 40 s apart": Kind(two_receivers, "clock", always=True),
    **{f"no speeds, {metres} m of noise": Kind(no_speed(metres), harsh=False) for metres in (1, 3, 5)},
    "no speeds, exact and uneven": Kind(exact, harsh=False),
    "8 km aside in 5 %": Kind(one_place(0, 8_000)),
    "8 km ahead in 5 %": Kind(one_place(8_000, 0)),  # made drives go north, so they pass this place
    "10 m of noise": Kind(dirty.noise),
    "parked with noise": Kind(parked),
}
"""Every kind by name."""


def _other_clock(seconds: float) -> Fault:
    return lambda drive: drive | {"t": drive["t"] - seconds}


SECOND_SENSOR: Final[dict[str, Fault]] = {
    f"two sensors {name} apart": _other_clock(seconds)
    for name, seconds in (("10 min", 600.0), ("1 h", 3_600.0), ("9 h", 32_400.0))
}
"""What the second sensor sends whose clock is behind; both are received at the same time."""
