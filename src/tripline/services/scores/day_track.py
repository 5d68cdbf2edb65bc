"""The track of a vehicle's day from the samples of its trips, and its idling.

Not here: thinning (`track.py`), the trips of the day (`services/fleet/vehicle_days.py`).
"""

from typing import Final

import numpy as np

from tripline.domain import positions, samples
from tripline.scoring import measures, speeds
from tripline.scoring.rules import Guards
from tripline.services.scores import arrays, track
from tripline.services.scores.track import Track

_GUARDS: Final = Guards()


def of_packed(packed: bytes, *, begin_ms: int, end_ms: int) -> Track:
    """Return at most `track.MOST` samples from `begin_ms` to before `end_ms`. Raises ValueError when packed samples are
    truncated."""
    rows = np.frombuffer(packed, arrays.PACKED)
    time_ms = rows["time_ms"]
    return track.of_packed(rows[(time_ms >= begin_ms) & (time_ms < end_ms)].tobytes())


def idle_ms(packed: bytes, *, begin_ms: int, end_ms: int) -> int:
    """Return the part between two instants of all idling: standing for `measures.IDLE_MS` and longer.

    Overlapping trips count once. Raises ValueError when packed samples are truncated.
    """
    rows = np.frombuffer(packed, arrays.PACKED)
    rows = rows[rows["flags"] & samples.FLAG_OWN_TIME != 0]
    time_ms, first = np.unique(rows["time_ms"], return_index=True)
    speed = speeds.trusted(rows["speed_kmh"][first], positions.FASTEST_KMH)
    near = np.diff(time_ms) <= _GUARDS.gap_ms
    standing = near & (np.fmax(speed[:-1], speed[1:]) <= _GUARDS.still_kmh)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], standing, [False]))))
    first_ms, last_ms = time_ms[edges[::2]], time_ms[edges[1::2]]
    part_ms = np.minimum(last_ms, end_ms) - np.maximum(first_ms, begin_ms)
    return int(part_ms[(last_ms - first_ms >= measures.IDLE_MS) & (part_ms > 0)].sum())
