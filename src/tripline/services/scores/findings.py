"""Findings of a trip, as they are stored with the result: manoeuvres, stretches over the limit, measures, quality, and
the limit along the trip, each event with its cost.

The costs of all items add up to 100 minus the score: each item's share of the cost is its share of the total burden.
Annulled events cost nothing.
"""

import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from tripline.roads.located import Road
from tripline.scoring import overspeed, score, style
from tripline.scoring.drives import Flags
from tripline.scoring.findings import Events
from tripline.scoring.kernel import Block, Work
from tripline.scoring.measures import Measures
from tripline.scoring.quality import LimitSource, Quality
from tripline.scoring.rules import THRESHOLDS, EventType, Rules
from tripline.scoring.score import COUNTED, TripScore
from tripline.scoring.worth import Worth
from tripline.store.scores.disputes import Annulled

_QUICKLY: Final = 1
"""Level of zlib: higher ones save 2 % and take twice the time."""


class Manoeuvre(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One harsh event."""

    type: EventType
    at_ms: int
    begin_ms: int
    end_ms: int
    lat: float
    lon: float
    speed_kmh: float
    begin_kmh: float
    end_kmh: float
    rate: float
    """The maximum, km/h per second; 0: the device reported the event itself."""
    threshold: float
    """The rate from which it counts; 0 for events that the device reported."""
    threshold_name: str | None
    """Of `rules.THRESHOLDS`, by the speed where the rate was greatest; None for events that the device reported."""
    annulled: str | None
    """The accepted dispute that annulled it."""
    cost: float
    """In points."""
    without_it: float | None
    """The score if it did not count, as after an accepted dispute; None: the trip has no score."""
    event_id: str | None = None
    """Id of the stored GPS event; only in an explanation (`explanation.py`)."""


class Stretch(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Consecutive samples over the limit."""

    begin_ms: int
    last_ms: int
    """Its last sample."""
    end_ms: int
    """The sample behind that one, if there is one."""
    lat: float
    lon: float
    fastest_kmh: float
    limit_kmh: float
    counted_kmh: float
    """The limit with its tolerance: faster than this counts."""
    limit_source: LimitSource
    road: Road | None
    """The road of the first sample."""
    seconds: float
    annulled: str | None
    cost: float
    without_it: float | None
    event_ids: list[str] = []
    """As `Manoeuvre.event_id`, by time."""


class Moment(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A braking or a corner, if the policy gives them a weight. It is not a GPS event."""

    begin_ms: int
    end_ms: int
    lat: float
    lon: float
    peak: float
    """Maximum rate of a braking, km/h per second; maximum lateral acceleration of a corner, g."""
    cost: float
    without_it: float | None


class LimitRun(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Consecutive samples with one limit from one source on one road, without a gap between them."""

    begin_ms: int
    end_ms: int
    """The next sample; of the last one before a gap or at the end, its own time."""
    limit_kmh: float | None
    """None: no limit."""
    limit_source: LimitSource
    road: Road | None
    """The road of the first sample."""


class TripFindings(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Everything that judging a trip found."""

    manoeuvres: list[Manoeuvre]
    stretches: list[Stretch]
    brakings: list[Moment]
    corners: list[Moment]
    score: float | None
    """By the policy; None: it gives no score, or the trip is annulled."""
    distance_m: float
    measures: Measures
    quality: Quality
    limits: list[LimitRun]
    """The limit along the trip, by time."""


def written(found: TripFindings) -> bytes:
    """Encode for storage."""
    return zlib.compress(msgspec.msgpack.encode(found), _QUICKLY)


def read(body: bytes) -> TripFindings:
    """Decode findings that `written` encoded under the present version (`store/scores/scores.py`)."""
    return _DECODER.decode(zlib.decompress(body))


_DECODER: Final = msgspec.msgpack.Decoder(TripFindings)


def of_block(
    block: Block,
    trip: int,
    rules: Rules,
    *,
    scored: TripScore | None,
    quality: Quality,
    annulled: Sequence[Annulled],
    measured: Measures,
    roads: Sequence[Road],
) -> TripFindings:
    """Collect the findings of one trip of a judged block.

    `scored`: its score, if it has one; `roads`: the roads that the samples refer to by index.
    """
    work = block.work.of_trip(trip)
    worth = Worth(work, block.findings, trip, scored, rules)
    items = _items(block.shown.of_trip(trip), worth, annulled, rules, roads)
    return TripFindings(
        manoeuvres=items.manoeuvres,
        stretches=items.stretches,
        brakings=_moments(work, work.brakings, rules.style.braking_weight, worth),
        corners=_moments(work, work.corners, rules.style.cornering_weight, worth),
        score=None if scored is None else scored.score,
        distance_m=float(block.findings.distance_m[trip]),
        measures=measured,
        quality=quality,
        limits=_limits(work, rules, roads),
    )


class _Items(NamedTuple):
    """A trip's events, as shown."""

    manoeuvres: list[Manoeuvre]
    stretches: list[Stretch]


def _items(events: Events, worth: Worth, annulled: Sequence[Annulled], rules: Rules, roads: Sequence[Road]) -> _Items:
    manoeuvres: list[Manoeuvre] = []
    stretches: list[Stretch] = []
    columns = (getattr(events, name).tolist() for name in Events.__struct_fields__[1:])
    for kind, at_ms, lat, lon, kmh, limit, way, road, begin_ms, end_ms, *figures in zip(*columns, strict=True):
        begin_kmh, end_kmh, rate, least, row, counted_kmh, seconds, far = figures
        dispute_id = _dispute(kind, at_ms, annulled)
        points = worth.points if dispute_id is None else 0.0
        if kind != EventType.OVERSPEED:
            manoeuvres.append(
                Manoeuvre(
                    type=EventType(kind),
                    at_ms=at_ms,
                    begin_ms=begin_ms,
                    end_ms=end_ms,
                    lat=lat,
                    lon=lon,
                    speed_kmh=kmh,
                    begin_kmh=begin_kmh,
                    end_kmh=end_kmh,
                    rate=rate,
                    threshold=least,
                    threshold_name=THRESHOLDS[row] if least else None,
                    annulled=dispute_id,
                    cost=score.weight(EventType(kind), rules) * points,
                    without_it=worth.annulled(EventType(kind), begin_ms, end_ms),
                )
            )
            continue
        cost = (score.weight(EventType.OVERSPEED, rules) * seconds + far) * points
        last = stretches[-1] if stretches else None
        own_way, on = LimitSource(way), None if road < 0 else roads[road]
        facts = (at_ms, limit, own_way, _name(on), dispute_id)
        if last is not None and (
            (last.end_ms, last.limit_kmh, last.limit_source, _name(last.road), last.annulled) == facts
        ):
            stretches[-1] = msgspec.structs.replace(
                last,
                last_ms=at_ms,
                end_ms=end_ms,
                fastest_kmh=max(last.fastest_kmh, kmh),
                seconds=last.seconds + seconds,
                cost=last.cost + cost,
            )
            continue
        stretches.append(
            Stretch(
                begin_ms=at_ms,
                last_ms=at_ms,
                end_ms=end_ms,
                lat=lat,
                lon=lon,
                fastest_kmh=kmh,
                limit_kmh=limit,
                counted_kmh=counted_kmh,
                limit_source=own_way,
                road=on,
                seconds=seconds,
                annulled=dispute_id,
                cost=cost,
                without_it=None,
            )
        )
    return _Items(manoeuvres, [_with_worth(each, worth) for each in stretches])


def _with_worth(stretch: Stretch, worth: Worth) -> Stretch:
    without_it = worth.annulled(EventType.OVERSPEED, stretch.begin_ms, stretch.last_ms)
    return msgspec.structs.replace(stretch, without_it=without_it)


def _name(road: Road | None) -> str:
    """The name of a road; a map splits one road into many links."""
    return "" if road is None else road.name


def _dispute(event_type: int, at_ms: int, annulled: Sequence[Annulled]) -> str | None:
    """The accepted dispute that annulled an event."""
    for each in annulled:
        if each.kind is None:
            return each.dispute_id
        if event_type in COUNTED[each.kind] and each.begin_ms <= at_ms <= each.end_ms:
            return each.dispute_id
    return None


def _moments(work: Work, runs: style.Runs, weight: float, worth: Worth) -> list[Moment]:
    drives, cost, without_it = work.drives, weight * worth.points, worth.without(weight)
    columns = (drives.time_ms[runs.first], drives.time_ms[runs.last], drives.lat[runs.first], drives.lon[runs.first])
    return [
        Moment(begin_ms=begin_ms, end_ms=end_ms, lat=lat, lon=lon, peak=peak, cost=cost, without_it=without_it)
        for begin_ms, end_ms, lat, lon, peak in zip(*(column.tolist() for column in (*columns, runs.peak)), strict=True)
    ]


def _limits(work: Work, rules: Rules, roads: Sequence[Road]) -> list[LimitRun]:
    drives = work.drives
    if not drives.time_ms.size:
        return []
    apart = (work.spacing > rules.guards.gap_ms) | (work.spacing <= 0)
    apart[drives.starts[1:-1] - 1] = True
    last = np.flatnonzero(np.append(apart | _changes(work, rules, roads), True))
    first = np.append(0, last[:-1] + 1)
    ends = np.where(np.append(apart, True)[last], last, last + 1)
    limits, ways = overspeed.limits_kmh(drives, first, rules), overspeed.sources(drives, first, rules)
    columns = drives.time_ms[first], drives.time_ms[ends], limits, ways, overspeed.roads(drives, first)
    return [
        LimitRun(
            begin_ms=begin_ms,
            end_ms=end_ms,
            limit_kmh=limit or None,
            limit_source=LimitSource(way),
            road=None if link < 0 else roads[link],
        )
        for begin_ms, end_ms, limit, way, link in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _changes(work: Work, rules: Rules, roads: Sequence[Road]) -> Flags:
    """True for the intervals in which the limit, its source or the name of the road changes."""
    drives = work.drives
    if drives.limit_kmh is None:
        return np.zeros(work.spacing.size, np.bool_)
    every = np.arange(drives.time_ms.size)
    # A map splits one road into many links.
    numbers: dict[str | None, int] = {None: -1}
    alike = np.array([numbers.setdefault(each.name, len(numbers)) for each in roads] + [-1], np.int32)
    columns = (
        overspeed.limits_kmh(drives, every, rules),
        overspeed.sources(drives, every, rules),
        alike[overspeed.roads(drives, every)],
    )
    changed: Flags = np.logical_or.reduce([np.diff(column) != 0 for column in columns])
    return changed
