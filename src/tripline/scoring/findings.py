"""The findings in trips: distance, spacing, seconds over the limit, repairs, and the events of all, as arrays."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from tripline.scoring import distances
from tripline.scoring.drives import Flags, Floats, Ints
from tripline.scoring.quality import BY_DEFAULT, HarshSource, Limits, LimitSource, Quality
from tripline.scoring.rules import EventType

Types = NDArray[np.int8]

REPAIRS: Final = (
    "clock_steps",
    "merged",
    "no_fix",
    "bad_speeds",
    "filled_speeds",
    "lone_speeds",
    "bad_positions",
    "old_positions",
    "replaced_steps",
    "left_out_steps",
    "scattered_positions",
    "constant_em",
    "unconfirmed",
)
"""The repairs counted for each trip: data that was mended or ignored."""


class Events(msgspec.Struct, frozen=True):
    """GPS events of all trips, equally long arrays, by trip, then time, then type."""

    trip: Ints
    type: Types
    time_ms: Ints
    lat: Floats
    lon: Floats
    speed_kmh: Floats
    """0 where a sample with manoeuvre bits has no speed at all."""
    limit_kmh: Floats
    """The limit broken; 0 for harsh events."""
    limit_source: Types
    """`quality.LimitSource` of that limit; meaningless for harsh events."""
    road: NDArray[np.int32]
    """`Drives.road` where a limit was broken; -1 where unknown, and for harsh events."""
    begin_ms: Ints
    """Begin of a manoeuvre; else as `time_ms`."""
    end_ms: Ints
    """End of a manoeuvre; for overspeed the time of the next sample, if the trip has one."""
    begin_kmh: Floats
    end_kmh: Floats
    rate: Floats
    """The greatest rate of a manoeuvre, |km/h per second|; 0 without one."""
    least: Floats
    """The threshold that the rate reached, km/h per second; 0 without one."""
    row: Types
    """Its place in `rules.THRESHOLDS`; meaningless without one."""
    counted_kmh: Floats
    """The speed above which a limit counts as broken; 0 for harsh events."""
    seconds: Floats
    """Duration attributed to a sample over the limit; 0 for harsh events."""
    far_over: Floats
    """Extra burden of a sample far over the limit; 0 if the policy gives it no weight."""

    def of_types(self, types: Sequence[EventType]) -> Flags:
        """True for each event of one of these types."""
        flags: Flags = np.logical_or.reduce([self.type == each for each in types])  # a tenth of the time of `np.isin`
        return flags

    def of_trip(self, trip: int) -> "Events":
        """The events of one trip."""
        chosen = slice(*np.searchsorted(self.trip, [trip, trip + 1]))
        return Events(*(getattr(self, name)[chosen] for name in self.__struct_fields__))


class Spans(msgspec.Struct, frozen=True):
    """Spans of time without a gap, of all trips: equally long arrays, by trip. They may overlap where a clock steps."""

    trip: Ints
    begin_ms: Ints
    end_ms: Ints
    """Equal to `begin_ms` for a lone sample."""


class Findings(msgspec.Struct, frozen=True):
    """Findings of each trip (shape n), and the events and spans of all trips."""

    distance_m: Floats
    """The stated distance if it is plausible; else whole metres, summed from steps."""
    instants: Ints
    """Samples after the first rule of time: at most one in `scoring.instant_ms`."""
    dense: Flags
    """True if the median interval is under the limit."""
    over_s: Floats
    """Seconds over the limit."""
    style: Floats
    """Burden of driving style (`style.py`); 0 if the policy gives it no weight."""
    unclocked: Flags
    """True if the device's clock is wrong too often (`clocks.Cuts`), or `Drives.untimed` says so."""
    implausible: Flags
    """True if more than `speeds.MOST_IMPOSSIBLE` of the speeds are impossible."""
    ratio: Floats
    """Distance by speed for each metre by positions (`units.ratios`); NaN if the trip is too short to measure it."""
    source: NDArray[np.int8]
    """`distances.Source`."""
    gaps: Ints
    """Intervals longer than `guards.gap_ms`."""
    period_ms: Ints
    """Mean interval without gaps; 0 with fewer than two samples."""
    limits: Floats
    """Shape n x `quality.LimitSource`: the share of the distance with a limit from each source."""
    repairs: Ints
    """Shape n x `REPAIRS`."""
    harsh_source: NDArray[np.int8]
    """`quality.HarshSource`."""
    steps_kmh: Floats
    """The step of the device's speeds; 0: unknown."""
    column: NDArray[np.int8]
    """`rules.Column`."""
    spans: Spans
    events: Events

    def quality(self, trip: int) -> Quality:
        """The quality of a trip's samples."""
        ratio = float(self.ratio[trip])
        return Quality(
            samples=int(self.instants[trip]),
            period_ms=int(self.period_ms[trip]),
            gaps=int(self.gaps[trip]),
            speed_ratio=None if np.isnan(ratio) else round(ratio, 4),
            distance=distances.Source(int(self.source[trip])).name.lower(),
            repairs={name: count for name, count in zip(REPAIRS, self.repairs[trip].tolist(), strict=True) if count},
            limits=self._limits(trip),
            harsh_source=HarshSource(int(self.harsh_source[trip])),
            speed_step=float(self.steps_kmh[trip]),
            column=int(self.column[trip]),
        )

    def _limits(self, trip: int) -> Limits:
        shares = np.round(self.limits[trip], 4).tolist()
        if shares[LimitSource.DEFAULT] == 1:
            return BY_DEFAULT
        return Limits(**{each.name.lower(): shares[each] for each in LimitSource})

    def counts(self, *kinds: EventType) -> Ints:
        """Events of these kinds in each trip."""
        counts: Ints = np.bincount(self.events.trip[self.events.of_types(kinds)], minlength=self.distance_m.size)
        return counts


def joined(parts: list[Findings]) -> Findings:
    """Concatenate the findings of all parts and empty the list.

    Each part's column of events is freed once it is joined: two copies of all events would be most of the memory.
    """
    spans, events = [part.spans for part in parts], [part.events for part in parts]
    names = [name for name in Findings.__struct_fields__ if name not in ("spans", "events")]
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    parts.clear()
    return Findings(
        **columns,
        spans=Spans(*_columns(spans, Spans.__struct_fields__)),
        events=Events(*_columns(events, Events.__struct_fields__)),
    )


def _columns(parts: list[Spans] | list[Events], names: Sequence[str]) -> Iterator[Any]:
    """These columns of all parts, one after the other."""
    left = [[getattr(part, name) for part in parts] for name in reversed(names)]
    parts.clear()
    while left:
        yield np.concatenate(left.pop())
