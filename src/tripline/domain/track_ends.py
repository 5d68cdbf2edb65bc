"""The part of a trip's track without its ends, for readers who must not see where it began and ended.

Not here: reading and thinning the track (`services/shared_trips.py`).
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tripline.domain.positions import DEGREE_M, FASTEST_KMH

END_M: Final = 200.0
"""How far a shown place is from each end of the trip, at least: as the crow flies, so along the track as well."""
_FASTEST_M_PER_MS: Final = FASTEST_KMH / 3_600


class Moment(NamedTuple):
    """Time and place of a sample."""

    time_ms: int
    lat: float
    lon: float


def without_ends(track: Sequence[Moment]) -> Sequence[Moment]:
    """Return the part at least `END_M` away from both ends of the track, by time; empty if less than a line is left.

    Distances along the track would not do: a receiver that stands still reports places that wander, and these add up to
    any distance.
    """
    first, last = _end(track), len(track) - _end(track[::-1])
    return track[first:last] if last - first > 1 else []


def _end(track: Sequence[Moment]) -> int:
    """Return how many moments pass until the track is `END_M` away from its first place.

    A jump that no vehicle makes begins the search again: the place before it was wrong.
    """
    begin = track[0] if track else None
    for no, (before, here) in enumerate(pairwise(track), start=1):
        if _metres(before, here) > _FASTEST_M_PER_MS * abs(here.time_ms - before.time_ms):
            begin = here
        elif begin is not None and _metres(begin, here) >= END_M:
            return no
    return len(track)


def _metres(one: Moment, other: Moment) -> float:
    north = (other.lat - one.lat) * DEGREE_M
    east = ((other.lon - one.lon + 180) % 360 - 180) * DEGREE_M * math.cos(math.radians(one.lat))
    return math.hypot(north, east)
