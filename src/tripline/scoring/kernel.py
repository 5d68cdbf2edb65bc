"""Samples of many trips in, findings out: distances, spacing, events, seconds over the limit. No trip waits in a loop.

Trips are worked through in blocks of about `BLOCK` samples, so that what is computed on the way stays in the
processor's cache and the memory above the input stays small however much is scored at once.

Here is the order of the steps; each has its module: `drives` (one instant, one sample), `speeds`, `harsh`,
`overspeed`, `geometry`. What findings are worth: `score.py`. The rules: `docs/scoring.md`.
"""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from tripline.scoring import geometry, harsh, overspeed, speeds
from tripline.scoring.drives import Drives, Flags, Floats, Ints, instants, intervals_ms, seams
from tripline.scoring.rules import EventType, Rules

BLOCK: Final = 65_536
"""Samples in one block: a column of them is 512 KiB; smaller blocks spend their time on the calls between arrays."""


class Events(msgspec.Struct, frozen=True):
    """GPS events of all trips, equally long arrays, by trip, then time, then type."""

    trip: Ints
    type: harsh.Types
    time_ms: Ints
    lat: Floats
    lon: Floats
    speed_kmh: Floats
    """0 where a sample with manoeuvre bits has no speed at all."""
    limit_kmh: Floats
    """The limit broken; 0 for harsh events."""


class Findings(msgspec.Struct, frozen=True):
    """What was found in each trip (shape n), and the events of all."""

    distance_m: Floats
    """Whole metres where summed from steps; as stated where stated."""
    instants: Ints
    """Samples after the first rule of time: at most one in half a second."""
    dense: Flags
    """Whether the median interval is under the limit."""
    over_s: Floats
    """Seconds over the limit."""
    events: Events

    def counts(self, *kinds: EventType) -> Ints:
        """Events of these kinds in each trip."""
        of_kind = np.isin(self.events.type, kinds)
        counts: Ints = np.bincount(self.events.trip[of_kind], minlength=self.distance_m.size)
        return counts


def findings(drives: Drives, rules: Rules) -> Findings:
    """The findings of every trip, in the order given."""
    parts = []
    for first, last in _blocks(drives.starts):
        found = _block(drives.part(first, last), rules)
        found.events.trip[:] += first
        parts.append(found)
    if not parts:
        return _block(drives, rules)
    return Findings(
        distance_m=np.concatenate([part.distance_m for part in parts]),
        instants=np.concatenate([part.instants for part in parts]),
        dense=np.concatenate([part.dense for part in parts]),
        over_s=np.concatenate([part.over_s for part in parts]),
        events=Events(
            *(np.concatenate([getattr(part.events, column) for part in parts]) for column in Events.__struct_fields__)
        ),
    )


def _blocks(starts: Ints) -> Iterator[tuple[int, int]]:
    """Runs of whole trips (first, last + 1) of about `BLOCK` samples; a longer trip is a block of its own."""
    first, trips = 0, starts.size - 1
    while first < trips:
        last = int(np.searchsorted(starts, starts[first] + BLOCK, side="right")) - 1
        last = min(max(last, first + 1), trips)
        yield first, last
        first = last


def _block(drives: Drives, rules: Rules) -> Findings:
    """The findings of a few trips."""
    spacing = intervals_ms(drives, between=rules.scoring.instant_ms)
    if spacing.size and spacing.min() < rules.scoring.instant_ms:
        drives = instants(drives, instant_ms=rules.scoring.instant_ms)
        spacing = intervals_ms(drives, between=rules.scoring.instant_ms)
    speed = speeds.filled(drives, rules)
    over = overspeed.samples_over(drives, speed, rules)
    return Findings(
        distance_m=_distances(drives),
        instants=np.diff(drives.starts),
        dense=_dense(drives, spacing, rules),
        over_s=overspeed.seconds_over(drives, over, spacing, rules),
        events=_events(drives, speed, _harsh(drives, speed, spacing, rules), over, rules),
    )


def _distances(drives: Drives) -> Floats:
    """Metres of each trip: stated, else the sum of steps, rounded once at the end."""
    unstated = np.isnan(drives.stated_m)
    if not unstated.any():
        return drives.stated_m
    steps = np.append(geometry.steps_m(drives.lat, drives.lon), np.float32(0))
    steps[seams(drives.starts)] = 0
    return np.where(unstated, np.round(_sums(steps, drives.starts)), drives.stated_m)


def _sums(steps: NDArray[np.float32], starts: Ints) -> Floats:
    """The sum of each trip's elements, in double precision."""
    begins = starts[:-1]
    filled = begins < starts[1:]
    totals = np.zeros(begins.size)
    if filled.any():
        totals[filled] = np.add.reduceat(steps, begins[filled], dtype=np.float64)
    return totals


def _dense(drives: Drives, spacing: Ints, rules: Rules) -> Flags:
    """Whether each trip's median interval is under the limit, told by counting; only a draw needs the median itself."""
    long = np.flatnonzero(spacing >= rules.scoring.max_median_ms)
    counts = np.diff(drives.starts) - 1
    long_counts = np.bincount(drives.at(long), minlength=len(drives))
    dense = (counts > 0) & (2 * long_counts < counts)
    for trip in np.flatnonzero((counts > 0) & (2 * long_counts == counts)):
        own = spacing[drives.starts[trip] : drives.starts[trip + 1] - 1]
        dense[trip] = np.median(own) < rules.scoring.max_median_ms
    return dense


def _harsh(drives: Drives, speed: Floats, spacing: Ints, rules: Rules) -> harsh.Found:
    """Harsh events by speed; of OBD trips whose samples carry `em`, by `em`."""
    by_speed = harsh.from_speed(drives, speed, spacing, rules)
    if drives.em is None:
        return by_speed
    carrying = np.zeros(len(drives), np.bool_)
    carrying[drives.at(np.flatnonzero(drives.em >= 0))] = True
    carrying &= drives.obd
    if not carrying.any():
        return by_speed
    by_em = harsh.from_em(drives.em, np.repeat(carrying, np.diff(drives.starts)))
    kept = ~carrying[drives.at(by_speed.samples)]
    return harsh.Found(
        np.concatenate([by_speed.samples[kept], by_em.samples]),
        np.concatenate([by_speed.types[kept], by_em.types]),
    )


def _events(drives: Drives, speed: Floats, rough: harsh.Found, over: Ints, rules: Rules) -> Events:
    """Harsh and overspeed events together; the index of a sample orders by trip and time."""
    samples = np.concatenate([rough.samples, over])
    types = np.concatenate([rough.types, np.full(over.size, EventType.OVERSPEED, np.int8)])
    limits = np.concatenate([np.zeros(rough.samples.size), overspeed.limits_kmh(drives, over, rules)])
    order = np.lexsort((types, samples))
    samples = samples[order]
    return Events(
        trip=drives.at(samples),
        type=types[order],
        time_ms=drives.time_ms[samples],
        lat=drives.lat[samples],
        lon=drives.lon[samples],
        speed_kmh=np.nan_to_num(speed[samples]),
        limit_kmh=limits[order],
    )
