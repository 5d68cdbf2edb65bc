"""Measures of driving besides events. None of them changes the score.

Each measure is a function of the samples after all steps of the kernel, for all trips of a block at once. Not here:
events and seconds over the limit (`harsh.py`, `overspeed.py`), the style that some policies weigh (`style.py`).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from tripline.scoring import overspeed, style
from tripline.scoring.drives import Flags, Floats, Ints, Singles
from tripline.scoring.kernel import Work
from tripline.scoring.rules import Rules

BANDS: Final = (1.0, 1.1, 1.2, 1.35)
"""Multiples of the limit: seconds are counted above each."""
IDLE_MS: Final = 300_000
"""Standing this long counts as idling, because the engine state is unknown."""
REST_MS: Final = 900_000
"""Standing this long counts as a rest."""
LONG_OVER_KMH: Final = 20.0
LONG_OVER_S: Final = 180.0
"""Exceeding the limit by this much for this long is long overspeed (KOTSA)."""
NIGHT: Final = (22, 6)
"""Hours of the night: from the first to the second, local time."""
HOUR_MS: Final = 3_600_000


class Measures(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The measures of one trip."""

    driving_s: float
    """Time between samples with a speed above standing, without gaps."""
    over_s: tuple[float, ...]
    """Seconds above each of `BANDS`."""
    long_over_s: float
    """Seconds of runs more than `LONG_OVER_KMH` above the limit that last `LONG_OVER_S` and longer."""
    cornering: int
    """Corners taken fast (`style.py`)."""
    cornering_s: float
    idle_s: float
    night_share: float
    """Share of the distance by night, 0 to 1."""
    longest_drive_s: float
    """The longest time without a rest."""


class _Drive(NamedTuple):
    """The samples of all trips of a block, one after the other; interval i runs from sample i to sample i + 1."""

    work: Work
    trips: int
    of: Ints
    """The trip of each sample."""
    step_ms: Ints
    """Length of each interval; 0 between trips and where a clock steps."""
    near: Flags
    """True for the intervals within a trip that are no gap."""
    along_ms: Ints
    """Time from the first sample to each one, without that between trips."""

    def summed(self, at: Ints, values: Floats | Singles | Ints) -> Floats:
        """For each trip, the sum of values that belong to these samples."""
        sums: Floats = np.bincount(self.of[at], weights=values, minlength=self.trips).astype(np.float64)
        return sums


def of_trips(work: Work, rules: Rules, *, utc_offsets_ms: Sequence[int]) -> list[Measures]:
    """The measures of each trip in this work. `utc_offsets_ms`: of each, offset of the local time at its beginning."""
    drives, trips = work.drives, len(work.repairs)
    of = np.repeat(work.own, np.diff(drives.starts))
    inside = of[1:] == of[:-1]
    step_ms = np.where(inside, np.maximum(np.diff(drives.time_ms), 0), 0)  # a step of the clock takes no time
    near = inside & (step_ms <= rules.guards.gap_ms)
    drive = _Drive(work, trips, of, step_ms, near, np.append(0, np.cumsum(step_ms)))
    faster = np.fmax(work.speed[:-1], work.speed[1:])
    moving = np.flatnonzero(near & (faster > rules.guards.still_kmh))
    corners = style.corners(drives, work.speed, work.spacing, rules)
    of_corners = drives.time_ms[corners.last + 1] - drives.time_ms[corners.first]
    columns = (
        drive.summed(moving, step_ms[moving]) / 1_000,
        _bands_s(drive, rules),
        _long_s(drive, rules),
        np.bincount(of[corners.first], minlength=trips),
        drive.summed(corners.first, of_corners) / 1_000,
        _idle_ms(drive, near & (faster <= rules.guards.still_kmh)) / 1_000,
        _night_share(drive, np.array(utc_offsets_ms, np.int64)),
        _longest_ms(drive, moving) / 1_000,
    )
    return [
        Measures(
            driving_s=driving_s,
            over_s=tuple(over_s),
            long_over_s=long_over_s,
            cornering=cornering,
            cornering_s=cornering_s,
            idle_s=idle_s,
            night_share=night_share,
            longest_drive_s=longest_s,
        )
        for driving_s, over_s, long_over_s, cornering, cornering_s, idle_s, night_share, longest_s in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def _bands_s(drive: _Drive, rules: Rules) -> Floats:
    """Shape trips x `BANDS`: seconds above each band."""
    over = _above(drive, rules, 0.0)
    limits = overspeed.limits_kmh(drive.work.drives, over, rules)
    seconds = overspeed.seconds(drive.work.drives, over, drive.work.spacing, rules)
    above = [drive.work.speed[over] > np.round(limits * band, 6) for band in BANDS]
    return np.stack([drive.summed(over[chosen], seconds[chosen]) for chosen in above], axis=1)


def _above(drive: _Drive, rules: Rules, kmh: float) -> Ints:
    """The samples by more than `kmh` above their limit."""
    drives, speed = drive.work.drives, drive.work.speed
    if drives.limit_kmh is None and not rules.scoring.default_limit_kmh:
        return np.empty(0, np.int64)
    limits = overspeed.limits_kmh(drives, np.arange(speed.size), rules)
    return np.flatnonzero((limits > 0) & (speed > limits + kmh))


def _long_s(drive: _Drive, rules: Rules) -> Floats:
    """Seconds of long overspeed."""
    work, far = drive.work, _above(drive, rules, LONG_OVER_KMH)
    if not far.size:
        return np.zeros(drive.trips)
    # A sample before a gap, or at the end of a stretch, ends its run.
    spacing = work.spacing[far[:-1]]
    ends = (np.diff(far) > 1) | (np.diff(work.drives.at(far)) > 0) | (spacing > rules.guards.gap_ms) | (spacing <= 0)
    first = np.append(0, np.flatnonzero(ends) + 1)
    runs = np.add.reduceat(overspeed.seconds(work.drives, far, work.spacing, rules), first)
    long = runs >= LONG_OVER_S
    return drive.summed(far[first[long]], runs[long])


def _night_share(drive: _Drive, utc_offsets_ms: Ints) -> Floats:
    """The share of the distance by night."""
    of = drive.of[:-1]
    hour = (drive.work.drives.time_ms[:-1] + utc_offsets_ms[of]) // HOUR_MS % 24
    night = np.flatnonzero((hour >= NIGHT[0]) | (hour < NIGHT[1]))
    driven = drive.summed(np.arange(of.size), drive.work.steps_m)
    return drive.summed(night, drive.work.steps_m[night]) / np.where(driven > 0, driven, 1.0)


def _idle_ms(drive: _Drive, standing: Flags) -> Floats:
    """The time in runs of standing that last `IDLE_MS` and more."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], standing, [False]))))
    first, end = edges[::2], edges[1::2]
    lasting = drive.along_ms[end] - drive.along_ms[first]
    long = lasting >= IDLE_MS
    return drive.summed(first[long], lasting[long])


def _longest_ms(drive: _Drive, moving: Ints) -> Ints:
    """The longest time between two rests; a gap of that length is a rest. `moving`: the intervals that move."""
    found = np.zeros(drive.trips, np.int64)
    along, of = drive.along_ms, drive.of[moving]
    rests = np.flatnonzero((along[moving[1:]] - along[moving[:-1] + 1] >= REST_MS) | (of[1:] != of[:-1]))
    first = moving[np.append(0, rests + 1)] if moving.size else moving
    last = moving[np.append(rests, moving.size - 1)] + 1 if moving.size else moving
    np.maximum.at(found, drive.of[first], along[last] - along[first])
    return found
