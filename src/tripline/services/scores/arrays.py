"""Convert packed samples (`domain/samples.py`) to the kernel's arrays, keeping only samples that can be scored.

A sample can be scored if it has its own time (or is alone in its message), does not belong to a parking trip, and has
a valid position (spec/device-messages 10). The kernel's guards decide which of its values to trust.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from tripline.domain import samples
from tripline.scoring import rules
from tripline.scoring.drives import Drives, Flags, Ints
from tripline.scoring.shifted import Trace

PACKED: Final = np.dtype(
    [("time_ms", "<i8"), ("lat", "<f8"), ("lon", "<f8"), ("speed_kmh", "<f8"), ("em", "<i2"), ("flags", "<u2")]
)
"""`samples.LAYOUT` as a numpy type, without padding."""
MOST_UNTIMED: Final = 0.1
"""A trip with a greater part of samples with a wrong time is refused."""


class Track(msgspec.Struct, frozen=True):
    """One trip as stored."""

    packed: bytes
    """Its samples in the order they were sent."""
    category: str | None
    """Category of the vehicle."""
    device_type: str
    stated_m: float | None


class Loaded(msgspec.Struct, frozen=True):
    """The arrays of a few trips, with statistics on all samples that have their own time, positioned or not."""

    drives: Drives
    timed: Ints
    """Number of such samples in each trip."""
    lasting_ms: Ints
    """Time between the earliest and the latest of each trip; 0 with fewer than two."""


def loaded(tracks: Sequence[Track]) -> Loaded:
    """Return the arrays of these trips, in order. Raises ValueError when packed samples are truncated."""
    bounds = np.cumsum([0, *(_count(track.packed) for track in tracks)])
    rows = np.frombuffer(b"".join(track.packed for track in tracks), PACKED)
    flags = rows["flags"]
    timed = (flags & samples.FLAG_OWN_TIME != 0) & (flags & samples.FLAG_PARKING == 0)
    used = timed & np.isfinite(rows["lat"]) & np.isfinite(rows["lon"])
    em = rows["em"][used]
    return Loaded(
        Drives(
            starts=np.append(0, np.cumsum(used))[bounds],
            time_ms=rows["time_ms"][used],
            lat=rows["lat"][used],
            lon=rows["lon"][used],
            speed_kmh=rows["speed_kmh"][used],
            em=em if (em >= 0).any() else None,
            limit_kmh=None,
            column=np.array([rules.column_of(track.category) for track in tracks], np.int8),
            untimed=_per_trip(flags & samples.FLAG_WRONG_TIME != 0, bounds) > MOST_UNTIMED * np.diff(bounds),
            obd=np.array([track.device_type.upper() == "OBD" for track in tracks], np.bool_),
            stated_m=np.array([np.nan if track.stated_m is None else track.stated_m for track in tracks], np.float64),
        ),
        timed=_per_trip(timed, bounds),
        lasting_ms=_lasting(rows["time_ms"][timed], np.append(0, np.cumsum(timed))[bounds]),
    )


def trace(packed: bytes) -> Trace:
    """Return the positions of one trip in order of time. Raises ValueError when packed samples are truncated."""
    drives = loaded([Track(packed, None, "", None)]).drives
    order = np.argsort(drives.time_ms, kind="stable")
    return Trace(drives.time_ms[order], drives.lat[order], drives.lon[order])


def _count(packed: bytes) -> int:
    count, rest = divmod(len(packed), PACKED.itemsize)
    if rest:
        raise ValueError(f"{len(packed)} bytes are not whole samples of {PACKED.itemsize}")
    return count


def _per_trip(chosen: Flags, bounds: Ints) -> Ints:
    counts: Ints = np.diff(np.append(0, np.cumsum(chosen))[bounds])
    return counts


def _lasting(time_ms: Ints, bounds: Ints) -> Ints:
    lasting: Ints = np.zeros(len(bounds) - 1, np.int64)
    some = np.diff(bounds) > 0
    starts = bounds[:-1][some]
    if starts.size:
        lasting[some] = np.maximum.reduceat(time_ms, starts) - np.minimum.reduceat(time_ms, starts)
    return lasting
