"""Explain scores: the cost of each manoeuvre and each stretch over the limit, and the quality of the samples.

The trip is judged again by the policy that its score names, so the explanation matches the score. The costs of all
items add up to 100 minus the score: each item's share of the cost is its share of the total burden.
Not here: the response format (`wire/rest/explanations.py`), judging a trip (`judgement.py`).
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tripline.ports.maps import RoadMatcher
from tripline.roads.located import Road
from tripline.scoring import kernel, measures, overspeed, score, style
from tripline.scoring import policy as verdicts
from tripline.scoring.drives import Drives
from tripline.scoring.findings import Events, Findings
from tripline.scoring.measures import Measures
from tripline.scoring.quality import LimitSource, Quality
from tripline.scoring.rules import EventType, Rules
from tripline.scoring.score import COUNTED, TripScore
from tripline.services.scores import arrays, judgement
from tripline.store.scores.disputes import Annulled
from tripline.store.scores.reads import StoredEvent
from tripline.store.scores.scores import Task


class Manoeuvre(msgspec.Struct, frozen=True, kw_only=True):
    """One harsh event."""

    event_id: str | None
    """Id of the stored GPS event, if any."""
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
    """The rate that was exceeded; 0 for events that the device reported."""
    annulled: str | None
    """The accepted dispute that annulled it."""
    cost: float
    """In points."""


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive samples over the limit."""

    event_ids: list[str]
    begin_ms: int
    end_ms: int
    lat: float
    lon: float
    fastest_kmh: float
    limit_kmh: float
    limit_source: LimitSource
    road: Road | None
    """The road of the first sample."""
    seconds: float
    annulled: str | None
    cost: float


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A braking or a corner, if the policy gives them a weight. It is not a GPS event."""

    begin_ms: int
    end_ms: int
    lat: float
    lon: float
    peak: float
    """Maximum rate of a braking, km/h per second; maximum lateral acceleration of a corner, g."""
    cost: float


class LimitRun(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive samples with one limit from one source on one road, without a gap between them."""

    begin_ms: int
    end_ms: int
    """The next sample; of the last one before a gap or at the end, its own time."""
    limit_kmh: float | None
    """None: no limit."""
    limit_source: LimitSource
    road: Road | None
    """The road of the first sample."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The explanation of a trip's score."""

    manoeuvres: list[Manoeuvre]
    stretches: list[Stretch]
    brakings: list[Moment]
    corners: list[Moment]
    unexplained: list[str]
    """Ids of stored GPS events that were not found again, because the score follows earlier rules."""
    score: float | None
    """By the policy of this explanation; None: the policy gives no score."""
    distance_m: float
    measures: Measures
    quality: Quality
    limits: list[LimitRun]
    """The limit along the trip, by time."""


class _Moment(NamedTuple):
    """The key that matches an event with a stored one."""

    event_ms: int
    event_type: int


class _Items(NamedTuple):
    """A trip's GPS events, as shown."""

    manoeuvres: list[Manoeuvre]
    stretches: list[Stretch]


def of_trip(
    task: Task, rules: Rules, kept: Sequence[StoredEvent], *, utc_offset_ms: int, roads: RoadMatcher | None = None
) -> Explanation:
    """Explain a trip by these rules. Raises ValueError when its packed samples are truncated, `Outage`.

    `kept`: its stored GPS events. `utc_offset_ms`: UTC offset of the local time when it began. `roads`: the source of
    speed limits; None: no limits.
    """
    placed = judgement.located(arrays.loaded([judgement.track(task)]).drives, roads)
    explained = of_drive(placed.drives, task, rules, kept, utc_offset_ms=utc_offset_ms, roads=placed.roads)
    return msgspec.structs.replace(explained, quality=msgspec.structs.replace(explained.quality, maps=placed.maps[0]))


def of_drive(
    drives: Drives,
    task: Task,
    rules: Rules,
    kept: Sequence[StoredEvent],
    *,
    utc_offset_ms: int,
    roads: Sequence[Road] = (),
) -> Explanation:
    """Like `of_trip`, with limits already added to the samples; `drives.road` indexes `roads`."""
    work = kernel.worked(drives, rules)
    found = kernel.found(work, rules)
    # Annulled events are shown too, at no cost.
    shown = found.events
    if annulled := judgement.annulments(task, 0):
        kernel.take_out(work, annulled)
        found = kernel.found(work, rules)
    (verdict,) = verdicts.judged(found, rules)
    scored = verdict if isinstance(verdict, TripScore) and not judgement.is_annulled(task) else None
    ids = _ids(kept)
    points = _points_of_burden(found, scored, rules)
    items = _items(shown, ids, points, task.annulled, rules, roads)
    return Explanation(
        manoeuvres=items.manoeuvres,
        stretches=items.stretches,
        brakings=_moments(work, work.brakings, rules.style.braking_weight * points),
        corners=_moments(work, work.corners, rules.style.cornering_weight * points),
        unexplained=[event_id for of_moment in ids.values() for event_id in of_moment],
        score=None if scored is None else scored.score,
        distance_m=float(found.distance_m[0]),
        measures=measures.of_trip(work, rules, utc_offset_ms=utc_offset_ms),
        quality=judgement.of_samples(task, found.quality(0)),
        limits=_limits(work, rules, roads),
    )


def _ids(kept: Sequence[StoredEvent]) -> dict[_Moment, list[str]]:
    """Ids of stored events, in reverse order."""
    ids: dict[_Moment, list[str]] = defaultdict(list)
    # Popped from the end, so the first of two equal events gets the first id.
    for event in reversed(kept):
        ids[_Moment(event.event_ms, event.event_type)].append(event.id)
    return ids


def _points_of_burden(found: Findings, scored: TripScore | None, rules: Rules) -> float:
    """Points that one unit of burden costs."""
    if scored is None:
        return 0.0
    counts = {name: getattr(scored, name) for name in COUNTED}
    burden = score.burden(counts, over_s=scored.over_speed_s, rules=rules, style=float(found.style[0]))
    return (100.0 - scored.score) / burden if burden else 0.0


def _items(
    events: Events,
    ids: dict[_Moment, list[str]],
    points: float,
    annulled: Sequence[Annulled],
    rules: Rules,
    roads: Sequence[Road],
) -> _Items:
    manoeuvres: list[Manoeuvre] = []
    stretches: list[Stretch] = []
    columns = (getattr(events, name).tolist() for name in Events.__struct_fields__[1:])
    for kind, at_ms, lat, lon, kmh, limit, way, road, begin_ms, end_ms, *figures in zip(*columns, strict=True):
        begin_kmh, end_kmh, rate, least, seconds, far = figures
        known = ids.get(_Moment(at_ms, kind))
        event_id = known.pop() if known else None
        dispute_id = _dispute(kind, at_ms, annulled)
        worth = points if dispute_id is None else 0.0
        if kind != EventType.OVERSPEED:
            manoeuvres.append(
                Manoeuvre(
                    event_id=event_id,
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
                    annulled=dispute_id,
                    cost=score.weight(EventType(kind), rules) * worth,
                )
            )
            continue
        own = [] if event_id is None else [event_id]
        cost = (score.weight(EventType.OVERSPEED, rules) * seconds + far) * worth
        last = stretches[-1] if stretches else None
        own_way, on = LimitSource(way), None if road < 0 else roads[road]
        facts = (begin_ms, limit, own_way, _name(on), dispute_id)
        if last is not None and (
            (last.end_ms, last.limit_kmh, last.limit_source, _name(last.road), last.annulled) == facts
        ):
            last.event_ids.extend(own)
            stretches[-1] = msgspec.structs.replace(
                last,
                end_ms=end_ms,
                fastest_kmh=max(last.fastest_kmh, kmh),
                seconds=last.seconds + seconds,
                cost=last.cost + cost,
            )
            continue
        stretches.append(
            Stretch(
                event_ids=own,
                begin_ms=begin_ms,
                end_ms=end_ms,
                lat=lat,
                lon=lon,
                fastest_kmh=kmh,
                limit_kmh=limit,
                limit_source=own_way,
                road=on,
                seconds=seconds,
                annulled=dispute_id,
                cost=cost,
            )
        )
    return _Items(manoeuvres, stretches)


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


def _moments(work: kernel.Work, runs: style.Runs, cost: float) -> list[Moment]:
    drives = work.drives
    columns = (drives.time_ms[runs.first], drives.time_ms[runs.last], drives.lat[runs.first], drives.lon[runs.first])
    return [
        Moment(begin_ms=begin_ms, end_ms=end_ms, lat=lat, lon=lon, peak=peak, cost=cost)
        for begin_ms, end_ms, lat, lon, peak in zip(*(column.tolist() for column in (*columns, runs.peak)), strict=True)
    ]


def _limits(work: kernel.Work, rules: Rules, roads: Sequence[Road]) -> list[LimitRun]:
    drives = work.drives
    every = np.arange(drives.time_ms.size)
    if not every.size:
        return []
    limits, ways = overspeed.limits_kmh(drives, every, rules), overspeed.sources(drives, every, rules)
    # A map splits one road into many links.
    numbers: dict[str | None, int] = {None: -1}
    alike = np.array([numbers.setdefault(each.name, len(numbers)) for each in roads] + [-1], np.int32)
    links = overspeed.roads(drives, every)
    names = alike[links]
    apart = (work.spacing > rules.guards.gap_ms) | (work.spacing <= 0)
    apart[drives.starts[1:-1] - 1] = True
    last = np.flatnonzero(
        np.append(apart | (np.diff(limits) != 0) | (np.diff(ways) != 0) | (np.diff(names) != 0), True)
    )
    first = np.append(0, last[:-1] + 1)
    ends = np.where(np.append(apart, True)[last], last, last + 1)
    columns = drives.time_ms[first], drives.time_ms[ends], limits[first], ways[first], links[first]
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
