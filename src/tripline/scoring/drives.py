"""The kernel's input: the samples of many trips in flat arrays. Also merges samples of one instant (O2, O4)."""

from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Singles = NDArray[np.float32]


class Drives(msgspec.Struct, frozen=True, kw_only=True):
    """Trips 0..n-1; the samples of trip k are elements `starts[k]` to `starts[k + 1] - 1` of the flat arrays."""

    starts: Ints
    """Shape n + 1, ascending; the last is the number of samples."""
    time_ms: Ints
    lat: Floats
    """Degrees WGS84, always valid; `lon` the same."""
    lon: Floats
    speed_kmh: Floats
    """NaN where the device gave none."""
    em: NDArray[np.int16] | None
    """Manoeuvre bits, 0..255; -1 where absent. None: absent everywhere."""
    limit_kmh: Floats | None
    """Speed limit of the road; NaN where unknown. None: unknown everywhere."""
    limit_source: NDArray[np.int8] | None = None
    """`quality.LimitSource` of each known limit. None: every limit is tagged."""
    road: NDArray[np.int32] | None = None
    """Index of each sample's road in the road matcher's list; -1 where unknown. None: unknown everywhere."""
    column: NDArray[np.int8]
    """Shape n, `rules.Column`."""
    obd: Flags
    """Shape n: true if `em` may replace the speed for harsh events."""
    untimed: Flags | None = None
    """Shape n: true if too many of the trip's samples have a wrong time and are left out. None: nowhere."""
    stated_m: Floats
    """Shape n: distance from the trip message or the matched road, metres; NaN: sum the steps."""

    def __len__(self) -> int:
        """The number of trips."""
        return self.starts.size - 1

    @property
    def trips(self) -> Ints:
        """The trip of each sample."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def part(self, first: int, last: int) -> "Drives":
        """Trips first..last-1 as views."""
        a, b = int(self.starts[first]), int(self.starts[last])
        return Drives(
            starts=self.starts[first : last + 1] - a,
            time_ms=self.time_ms[a:b],
            lat=self.lat[a:b],
            lon=self.lon[a:b],
            speed_kmh=self.speed_kmh[a:b],
            em=None if self.em is None else self.em[a:b],
            limit_kmh=None if self.limit_kmh is None else self.limit_kmh[a:b],
            limit_source=None if self.limit_source is None else self.limit_source[a:b],
            road=None if self.road is None else self.road[a:b],
            column=self.column[first:last],
            obd=self.obd[first:last],
            untimed=None if self.untimed is None else self.untimed[first:last],
            stated_m=self.stated_m[first:last],
        )

    def at(self, samples: Ints) -> Ints:
        """The trip of each of these samples."""
        trips: Ints = np.searchsorted(self.starts, samples, side="right") - 1
        return trips


class Stretches(NamedTuple):
    """Trips cut into stretches at clock steps."""

    drives: Drives
    """Each stretch as a trip."""
    own: Ints
    """The trip of each stretch."""


def intervals_ms(drives: Drives, *, between: int) -> Ints:
    """Time from each sample to the next; `between` where the next sample belongs to another trip."""
    intervals: Ints = np.diff(drives.time_ms)
    if len(drives) > 1:
        intervals[seams(drives.starts)] = between
    return intervals


def seams(starts: Ints) -> Ints:
    """Indexes of the intervals from a trip's last sample to the first of the next trip."""
    inner = starts[1:-1]
    found: Ints = inner[(inner > 0) & (inner < starts[-1])] - 1
    return found


def ranges(first: Ints, last: Ints) -> Ints:
    """All indexes from each first one to its last one, both included."""
    counts = last - first + 1
    ends = np.cumsum(counts)
    found: Ints = np.repeat(last - ends + 1, counts) + np.arange(counts.sum())
    return found


def beginnings(first: Ints, last: Ints) -> Ints:
    """The place in `ranges` of each first index."""
    counts = last - first + 1
    found: Ints = np.cumsum(counts) - counts
    return found


def instants(drives: Drives, *, instant_ms: int) -> Drives:
    """The same trips in order of time (O2: stable), reduced to the last of samples closer than `instant_ms` (O4).

    Kept samples are at least `instant_ms` apart: from the end of a trip backwards, each kept sample replaces the
    closer ones before it. It takes over their bits of `em`, for each bit is an event. Of equal times a sample that
    moves is the last: boxes send a second one with speed 0.
    """
    order = np.lexsort((drives.speed_kmh > 0, drives.time_ms, drives.at(np.arange(drives.time_ms.size))))
    keep = np.flatnonzero(_spaced(drives.time_ms[order], drives.starts, instant_ms))
    kept = picked(drives, order[keep])
    if drives.em is None or not keep.size:
        return kept
    em, first = drives.em[order], np.append(0, keep[:-1] + 1)
    absent = np.maximum.reduceat(em, first) < 0
    return replace(kept, em=np.where(absent, -1, np.bitwise_or.reduceat(np.maximum(em, 0), first)).astype(np.int16))


def picked(drives: Drives, samples: Ints) -> Drives:
    """The same trips with only these samples, which are in the order of the trips."""
    counts = np.bincount(drives.at(samples), minlength=len(drives))
    return replace(
        drives,
        starts=np.concatenate(([0], np.cumsum(counts))),
        time_ms=drives.time_ms[samples],
        lat=drives.lat[samples],
        lon=drives.lon[samples],
        speed_kmh=drives.speed_kmh[samples],
        em=None if drives.em is None else drives.em[samples],
        limit_kmh=None if drives.limit_kmh is None else drives.limit_kmh[samples],
        limit_source=None if drives.limit_source is None else drives.limit_source[samples],
        road=None if drives.road is None else drives.road[samples],
    )


def cut(drives: Drives, starts: Ints) -> Stretches:
    """The trips cut into stretches at `starts` (which include `Drives.starts`)."""
    fresh = ~np.isin(starts[:-1], drives.starts)  # `starts` repeats each start of a trip as often as `Drives.starts`
    own = np.cumsum(~fresh) - 1
    stretches = replace(
        drives,
        starts=starts,
        column=drives.column[own],
        obd=drives.obd[own],
        stated_m=drives.stated_m[own],
        untimed=None,
    )
    return Stretches(stretches, own)


def _spaced(time_ms: Ints, starts: Ints, instant_ms: int) -> Flags:
    """Which of the sorted samples to keep."""
    gaps = np.diff(time_ms)
    gaps[seams(starts)] = instant_ms
    near = gaps < instant_ms
    # A sample that is not near its next ends a chain: keep it. In chains of three and more, walk back from the end.
    keep = np.append(~near, True)[: time_ms.size]
    if not (near[1:] & near[:-1]).any():
        return keep
    along = np.append(0, np.cumsum(np.minimum(gaps, instant_ms)))
    # The sample to keep before each one. The first has none: -1 is the last sample of all, a chain's end.
    before = np.searchsorted(along, along - instant_ms, side="right") - 1
    while not keep[reached := before[keep]].all():
        keep[reached] = True
        before = before[before]  # twice as many steps back in each round
    return keep
