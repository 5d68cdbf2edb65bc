"""Measures of driving besides events. None of them changes the score.

Each measure is a function of the samples after all steps of the kernel. Not here: events and seconds over the limit
(`harsh.py`, `overspeed.py`), the style that some policies weigh (`style.py`).
"""

from typing import Final, NamedTuple

import msgspec
import numpy as np

from tripline.scoring import overspeed, style
from tripline.scoring.drives import Flags, Ints
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


class _Over(NamedTuple):
    """Seconds over the limit."""

    bands_s: tuple[float, ...]
    """Above each of `BANDS`."""
    long_s: float
    """`Measures.long_over_s`."""


def of_trip(work: Work, rules: Rules, *, utc_offset_ms: int) -> Measures:
    """The measures of the one trip in this work. `utc_offset_ms`: offset of the local time at its beginning."""
    drives, speed = work.drives, work.speed
    count = speed.size
    if count < 2:
        return Measures(
            driving_s=0.0,
            over_s=(0.0,) * len(BANDS),
            long_over_s=0.0,
            cornering=0,
            cornering_s=0.0,
            idle_s=0.0,
            night_share=0.0,
            longest_drive_s=0.0,
        )
    step_ms = np.maximum(np.diff(drives.time_ms), 0)  # a step of the clock takes no time
    near = step_ms <= rules.guards.gap_ms
    faster = np.fmax(speed[:-1], speed[1:])
    moving = near & (faster > rules.guards.still_kmh)
    hour = (drives.time_ms[:-1] + utc_offset_ms) // HOUR_MS % 24
    night = (hour >= NIGHT[0]) | (hour < NIGHT[1])
    driven = float(work.steps_m.sum(dtype=np.float64))
    over = _over(work, rules)
    corners = style.corners(drives, speed, work.spacing, rules)
    return Measures(
        driving_s=float(step_ms[moving].sum()) / 1_000,
        over_s=over.bands_s,
        long_over_s=over.long_s,
        cornering=int(corners.first.size),
        cornering_s=float((drives.time_ms[corners.last + 1] - drives.time_ms[corners.first]).sum()) / 1_000,
        idle_s=_idle_ms(step_ms, near & (faster <= rules.guards.still_kmh)) / 1_000,
        night_share=float(work.steps_m[night].sum(dtype=np.float64)) / driven if driven else 0.0,
        longest_drive_s=_longest_ms(step_ms, moving) / 1_000,
    )


def _over(work: Work, rules: Rules) -> _Over:
    """Seconds above each band, and of long overspeed."""
    samples = np.arange(work.speed.size)
    limits = overspeed.limits_kmh(work.drives, samples, rules)
    seconds = overspeed.seconds(work.drives, samples, work.spacing, rules)
    known = limits > 0
    bands = tuple(float(seconds[known & (work.speed > np.round(limits * band, 6))].sum()) for band in BANDS)
    far = known & (work.speed > limits + LONG_OVER_KMH)
    # A sample before a gap, or at the end of a stretch, ends its run.
    ends = np.append(~(far[:-1] & far[1:]) | (work.spacing > rules.guards.gap_ms) | (work.spacing <= 0), True)
    ends[np.maximum(work.drives.starts[1:] - 1, 0)] = True
    runs = np.bincount(np.cumsum(np.append(False, ends[:-1])), weights=np.where(far, seconds, 0))
    return _Over(bands, float(runs[runs >= LONG_OVER_S].sum()))


def _idle_ms(step_ms: Ints, standing: Flags) -> int:
    """The time in runs of standing that last `IDLE_MS` and more."""
    if not standing.any():
        return 0
    edges = np.flatnonzero(np.diff(np.concatenate(([False], standing, [False]))))
    along = np.append(0, np.cumsum(step_ms))
    lasting = along[edges[1::2]] - along[edges[::2]]
    return int(lasting[lasting >= IDLE_MS].sum())


def _longest_ms(step_ms: Ints, moving: Flags) -> int:
    """The longest time between two rests; a gap of that length is a rest."""
    driven = np.flatnonzero(moving)
    if not driven.size:
        return 0
    along = np.append(0, np.cumsum(step_ms))
    rests = np.flatnonzero(along[driven[1:]] - along[driven[:-1] + 1] >= REST_MS)
    first = driven[np.append(0, rests + 1)]
    last = driven[np.append(rests, driven.size - 1)] + 1
    return int((along[last] - along[first]).max())
