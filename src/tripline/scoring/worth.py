"""The worth of a trip's events: points for each unit of burden, and the score if some events did not count.

An accepted dispute annuls every event of a kind within an interval (`annulments.py`), so it may regain more points than
its event alone costs: two decelerations in one interval, or the brakings that a policy weighs beside them.
"""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np

from tripline.scoring import score
from tripline.scoring.drives import Floats, Ints
from tripline.scoring.findings import Findings
from tripline.scoring.kernel import Work
from tripline.scoring.rules import EventType, Rules
from tripline.scoring.score import COUNTED, TripScore


class Worth:
    """The worth of the events of one trip; without a score they are worth nothing."""

    def __init__(self, work: Work, found: Findings, trip: int, scored: TripScore | None, rules: Rules) -> None:
        """`work`: of the trip; `found`: of its block. Both without annulled events."""
        events = found.events.of_trip(trip)
        harsh, over = score.weight(EventType.START, rules), score.weight(EventType.OVERSPEED, rules)
        burden = np.where(events.type == EventType.OVERSPEED, over * events.seconds + events.far_over, harsh)
        self._kinds: dict[EventType, _Kind] = {}
        for types in COUNTED.values():
            of_kind = np.flatnonzero(events.of_types(types))
            self._kinds |= dict.fromkeys(types, _kind(events.time_ms[of_kind], burden[of_kind]))
        time_ms, brakings = work.drives.time_ms, work.brakings
        self._brakings = np.sort(time_ms[brakings.first]).tolist(), np.sort(time_ms[brakings.last]).tolist()
        self._braking_weight = rules.style.braking_weight
        self._distance_m = 0.0 if scored is None else scored.distance_m + scored.added_m
        self._burden = self.points = 0.0
        """`points`: the cost of one unit of burden."""
        if scored is not None:
            counts, style = {name: getattr(scored, name) for name in COUNTED}, float(found.style[trip])
            self._burden = score.burden(counts, over_s=scored.over_speed_s, rules=rules, style=style)
            self.points = (100.0 - scored.score) / self._burden if self._burden else 0.0

    def without(self, burden: float) -> float | None:
        """The score if so much burden did not count; None: there is no score."""
        if not self._distance_m:
            return None
        return score.trip_score(max(self._burden - burden, 0.0), distance_m=self._distance_m)

    def annulled(self, event: EventType, begin_ms: int, end_ms: int) -> float | None:
        """The score if events of this kind within the interval were annulled."""
        burden = self._kinds[event].within(begin_ms, end_ms)
        if event in COUNTED["de_accel"]:
            first, last = self._brakings
            burden += self._braking_weight * (bisect_left(first, end_ms) - bisect_right(last, begin_ms))
        return self.without(burden)


class _Kind(NamedTuple):
    """Events of a kind, by time."""

    times_ms: list[int]
    burdens: list[float]
    """Sums: of the events before each, then of all."""

    def within(self, begin_ms: int, end_ms: int) -> float:
        """The burden of the events from one instant to another, both included."""
        first, end = bisect_left(self.times_ms, begin_ms), bisect_right(self.times_ms, end_ms)
        return self.burdens[end] - self.burdens[first]


def _kind(times_ms: Ints, burdens: Floats) -> _Kind:
    if not times_ms.size:
        return _Kind([], [0.0])
    order = np.argsort(times_ms, kind="stable")
    return _Kind(times_ms[order].tolist(), [0.0, *np.cumsum(burdens[order]).tolist()])
