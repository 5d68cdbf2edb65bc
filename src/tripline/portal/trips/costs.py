"""Costs of a trip in the reader's words: the sentence on top of its page, and a row for each event.

Not here: the costs themselves (`services/scores/explanation.py`), the page (`trip_page.py`).
"""

import collections
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from tripline.domain.disputes import Dispute, State
from tripline.portal.frame.figures import Figures
from tripline.scoring.rules import EventType
from tripline.services import places

if TYPE_CHECKING:
    from tripline.services.scores.explanation import Explanation
    from tripline.services.scores.findings import Manoeuvre, Moment, Stretch

Say = Callable[..., str]

SHAPES: Final = {
    EventType.START: "start",
    EventType.ACCELERATION: "acceleration",
    EventType.DECELERATION: "deceleration",
    EventType.STOP: "stop",
    EventType.OVERSPEED: "overspeed",
}
"""Names of events, in texts (`portal.trip.event.`) and of their shapes (`event-` in `icons.svg`)."""
WORDED: Final = 9
"""Counts up to this one have a word."""
ROADS: Final = ", "
_MINUTE_S: Final = 60
_KNOWN_LITTLE: Final = 0.05
"""Below this share of distance with a known limit, a trip without costs is not called free of them."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """An event that cost points, or would have without a dispute."""

    shape: str
    begin_ms: int
    at_ms: int
    end_ms: int
    when: str
    """Time of day."""
    road: str
    """Empty: unknown."""
    where: str
    """The road, else coordinates."""
    lat: float
    lon: float
    measured: str
    allowed: str
    """Empty: nothing to compare with."""
    points: float
    without_it: float | None
    """The score if it did not count; None: the trip has no score."""
    annulled: bool
    """True if it does not count, because a dispute was accepted."""
    event_id: str | None
    """The GPS event that can be contested."""
    dispute: Dispute | None
    """Its newest dispute that is open or decided."""


def rows(found: "Explanation", disputes: Sequence[Dispute], *, say: Say, figures: Figures) -> list[Cost]:
    """Return the events of a trip, those that cost most first."""
    roads = [(run.begin_ms, run.end_ms, run.road.name) for run in found.limits if run.road is not None]

    def road_at(at_ms: int) -> str:
        return next((name for begin, end, name in roads if begin <= at_ms <= end and name), "")

    costs = [_harsh(each, road_at(each.at_ms), disputes, say, figures) for each in found.manoeuvres]
    for stretch in found.stretches:
        road = "" if stretch.road is None else stretch.road.name
        costs.append(_over(stretch, road or road_at(stretch.begin_ms), disputes, say, figures))
    for shape, moments, unit in (("braking", found.brakings, "rate"), ("corner", found.corners, "g")):
        costs += [
            Cost(
                shape=shape,
                begin_ms=each.begin_ms,
                at_ms=each.begin_ms,
                when=figures.clock(each.begin_ms),
                end_ms=each.end_ms,
                road=road_at(each.begin_ms),
                where=_where(each, road_at(each.begin_ms)),
                lat=each.lat,
                lon=each.lon,
                measured=say(f"portal.trip.{unit}", value=figures.number(each.peak, 1)),
                allowed="",
                points=each.cost,
                without_it=each.without_it,
                annulled=False,
                event_id=None,
                dispute=None,
            )
            for each in moments
        ]
    return sorted(costs, key=lambda each: (-each.points, each.begin_ms))


def _where(found: "Manoeuvre | Moment | Stretch", road: str) -> str:
    return places.text((found.lat, found.lon), road) or ""


def _harsh(found: "Manoeuvre", road: str, disputes: Sequence[Dispute], say: Say, figures: Figures) -> Cost:
    measured = say("portal.trip.by_device")
    if found.rate:
        measured = say(
            "portal.trip.changed",
            begin=round(found.begin_kmh),
            end=round(found.end_kmh),
            rate=say("portal.trip.rate", value=f"{found.rate:.1f}"),
        )
    return Cost(
        shape=SHAPES[found.type],
        begin_ms=found.begin_ms,
        at_ms=found.at_ms,
        when=figures.clock(found.at_ms),
        end_ms=found.end_ms,
        road=road,
        where=_where(found, road),
        lat=found.lat,
        lon=found.lon,
        measured=measured,
        allowed=say("portal.trip.below", rate=say("portal.trip.rate", value=f"{found.threshold:.1f}"))
        if found.threshold
        else "",
        points=found.cost,
        without_it=found.without_it,
        annulled=found.annulled is not None,
        event_id=found.event_id,
        dispute=_of_event(disputes, found.type, found.at_ms, found.at_ms),
    )


def _over(found: "Stretch", road: str, disputes: Sequence[Dispute], say: Say, figures: Figures) -> Cost:
    return Cost(
        shape=SHAPES[EventType.OVERSPEED],
        begin_ms=found.begin_ms,
        at_ms=found.begin_ms,
        when=figures.clock(found.begin_ms),
        end_ms=found.end_ms,
        road=road,
        where=_where(found, road),
        lat=found.lat,
        lon=found.lon,
        measured=say("portal.trip.fastest", speed=figures.speed(found.fastest_kmh), time=lasting(found.seconds, say)),
        allowed=figures.speed(found.limit_kmh),
        points=found.cost,
        without_it=found.without_it,
        annulled=found.annulled is not None,
        event_id=found.event_ids[0] if found.event_ids else None,
        dispute=_of_event(disputes, EventType.OVERSPEED, found.begin_ms, found.end_ms),
    )


def _of_event(disputes: Sequence[Dispute], kind: EventType, begin_ms: int, end_ms: int) -> Dispute | None:
    for each in reversed(disputes):
        event = each.event
        if event is None or each.state is State.WITHDRAWN or event.event_type != kind:
            continue
        if event.begin_ms <= end_ms and begin_ms <= event.end_ms:
            return each
    return None


def lasting(seconds: float, say: Say) -> str:
    """A duration in whole minutes, below one in seconds."""
    if round(seconds) < _MINUTE_S:
        return say("portal.trip.seconds", n=max(round(seconds), 1))
    return say("portal.trip.minutes", n=round(seconds / _MINUTE_S))


def why(found: "Explanation", *, say: Say) -> str:
    """Name in one clause what cost a scored trip its points."""
    parts = []
    stretches = [each for each in found.stretches if each.annulled is None]
    if stretches:
        time = lasting(sum(each.seconds for each in stretches), say)
        names = {each.road.name for each in stretches if each.road is not None and each.road.name}
        if names:
            parts.append(say("portal.trip.over", n=len(names), count=_count(len(names), say), time=time))
        else:
            parts.append(say("portal.trip.over_somewhere", time=time))
    counts = collections.Counter(each.type for each in found.manoeuvres if each.annulled is None)
    parts += [
        say(f"portal.trip.harsh.{shape}", n=counts[kind], count=_count(counts[kind], say))
        for kind, shape in SHAPES.items()
        if counts[kind]
    ]
    if parts:
        return ROADS.join(parts)
    if any(each.cost for each in (*found.brakings, *found.corners)):
        return say("portal.trip.style")
    if not found.quality.harsh_known:
        return say("portal.trip.nothing_vague")
    return say("portal.trip.nothing" if found.quality.limits.known >= _KNOWN_LITTLE else "portal.trip.nothing_known")


def _count(n: int, say: Say) -> str:
    return say(f"portal.trip.count.{n}") if 1 <= n <= WORDED else f"{n:,}"
