"""Costs of a trip in the reader's words: the sentence on top of its page, and a row for each event."""

import collections
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tripline.domain.disputes import Dispute, State
from tripline.portal.frame.figures import Figures
from tripline.scoring import score
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import THRESHOLDS, EventType, Rules
from tripline.services import places
from tripline.services.scores.reads import Outcome

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
ASSUMED: Final = (LimitSource.ROAD_CLASS, LimitSource.DEFAULT)
"""Sources of limits that the map does not state."""
WORDED: Final = 9
"""Counts up to this one have a word."""
ROADS: Final = ", "
_MINUTE_S: Final = 60
_DECIMALS: Final = 2
"""Most decimals of a speed."""
_SECOND_MS: Final = 1_000
_JUST_MS: Final = 5_000
"""An event this soon after a gap is said to follow it."""
_FREE: Final = 99.95
"""Scores above this one lack no point in the figures shown."""
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
    allowed: str = ""
    """Empty: nothing to compare with."""
    points: float
    without_it: float | None
    """The score if it did not count; None: the trip has no score."""
    annulled: bool = False
    """True if it does not count, because a dispute was accepted."""
    event_id: str | None = None
    """The GPS event that can be disputed."""
    dispute: Dispute | None = None
    """Its newest dispute that is open or decided."""


def rows(found: "Explanation", disputes: Sequence[Dispute], *, rules: Rules, say: Say, figures: Figures) -> list[Cost]:
    """Return the events of a trip, those that cost most first. `rules`: of its score."""
    roads = [(run.begin_ms, run.end_ms, run.road.name) for run in found.limits if run.road is not None]

    resumed = [run.begin_ms for before, run in itertools.pairwise(found.limits) if before.end_ms < run.begin_ms]

    def road_at(at_ms: int) -> str:
        return next((name for begin, end, name in roads if begin <= at_ms <= end and name), "")

    def cost(of: "Manoeuvre | Moment | Stretch", shape: str, *, at_ms: int, road: str = "", **facts: Any) -> Cost:
        road = road or road_at(at_ms)
        return Cost(
            shape=shape,
            begin_ms=of.begin_ms,
            at_ms=at_ms,
            end_ms=of.end_ms,
            when=figures.clock(at_ms),
            road=road,
            where=places.text((of.lat, of.lon), road) or "",
            lat=of.lat,
            lon=of.lon,
            points=of.cost,
            without_it=of.without_it,
            **facts,
        )

    costs = [
        cost(
            each,
            SHAPES[each.type],
            at_ms=each.at_ms,
            measured=_behind_a_gap(_changed(each, say), each.begin_ms, resumed, say),
            allowed=_threshold(each, rules, say),
            annulled=each.annulled is not None,
            event_id=each.event_id,
            dispute=_of_event(disputes, each.type, each.at_ms, each.at_ms),
        )
        for each in found.manoeuvres
    ]
    for stretch in found.stretches:
        measured, allowed = _speeds(stretch, rules, say, figures)
        costs.append(
            cost(
                stretch,
                SHAPES[EventType.OVERSPEED],
                at_ms=stretch.begin_ms,
                road="" if stretch.road is None else stretch.road.name,
                measured=measured,
                allowed=allowed,
                annulled=stretch.annulled is not None,
                event_id=stretch.event_ids[0] if stretch.event_ids else None,
                dispute=_of_event(disputes, EventType.OVERSPEED, stretch.begin_ms, stretch.end_ms),
            )
        )
    for shape, moments, unit in (("braking", found.brakings, "rate"), ("corner", found.corners, "g")):
        costs += [
            cost(
                each,
                shape,
                at_ms=each.begin_ms,
                measured=say(f"portal.trip.{unit}", value=figures.number(each.peak, 1)),
            )
            for each in moments
        ]
    return sorted(costs, key=lambda each: (-each.points, each.begin_ms))


def _changed(found: "Manoeuvre", say: Say) -> str:
    if not found.rate:
        return say("portal.trip.by_device")
    return say("portal.trip.changed", begin=round(found.begin_kmh), end=round(found.end_kmh), value=_rates(found)[0])


def _rates(found: "Manoeuvre") -> tuple[str, str]:
    """The greatest rate and its threshold, with the decimals that tell them apart."""
    decimals = _DECIMALS if round(found.rate, 1) == round(found.threshold, 1) and found.rate > found.threshold else 1
    return f"{found.rate:.{decimals}f}", f"{found.threshold:.{decimals}f}"


def _behind_a_gap(measured: str, begin_ms: int, resumed: Sequence[int], say: Say) -> str:
    """Name the gap in the reports that ended just before. `resumed`: when the gaps of the trip ended."""
    away_ms = min((begin_ms - each for each in resumed if each <= begin_ms), default=None)
    if away_ms is None or away_ms > _JUST_MS:
        return measured
    if away_ms < _SECOND_MS:
        return say("portal.trip.after_gap_at_once", measured=measured)
    return say("portal.trip.after_gap", measured=measured, seconds=lasting(away_ms / _SECOND_MS, say))


def _threshold(found: "Manoeuvre", rules: Rules, say: Say) -> str:
    if found.threshold_name is None:
        return ""
    return _below(found.threshold_name, _rates(found)[1], rules, say)


def _below(name: str, value: str, rules: Rules, say: Say) -> str:
    when = say(f"portal.trip.threshold.{name}", standing=f"{rules.harsh.standing_kmh:g}")
    return say("portal.trip.below", value=value, when=when)


def allowed(column: int, rules: Rules, say: Say) -> list[str]:
    """List the changes of speed allowed in this threshold column at one report a second, and name the events."""

    def below(name: str) -> str:
        return _below(name, f"{getattr(rules.harsh, name)[column]:.1f}", rules, say)

    slower = THRESHOLDS.index("stop")
    return [
        *(say("portal.trip.allowed.faster", allowed=below(name)) for name in THRESHOLDS[:slower]),
        *(say("portal.trip.allowed.slower", allowed=below(name)) for name in THRESHOLDS[slower:]),
        say("portal.trip.allowed.names", standing=f"{rules.harsh.standing_kmh:g}"),
    ]


def _speeds(found: "Stretch", rules: Rules, say: Say, figures: Figures) -> tuple[str, str]:
    """Say the fastest speed and the limit, with the decimals that tell the speed from the one above which it counts."""
    whole = 0 if found.limit_kmh == round(found.limit_kmh) else 1
    decimals = next(
        (each for each in range(whole, _DECIMALS) if round(found.fastest_kmh, each) > round(found.counted_kmh, each)),
        _DECIMALS,
    )
    fastest, counted = (figures.speed(each, decimals) for each in (found.fastest_kmh, found.counted_kmh))
    assumed = "_assumed" if found.limit_source in ASSUMED else ""
    limit = figures.speed(found.limit_kmh, whole)
    return (
        say("portal.trip.fastest", speed=fastest, time=lasting(found.seconds, say), counted=counted),
        say(f"portal.trip.limit{assumed}", limit=limit, tolerance=tolerance(rules, say), counted=counted),
    )


def tolerance(rules: Rules, say: Say) -> str:
    """How far above the limit a speed may be before it counts: a percentage or a speed."""
    return say(f"portal.trip.tolerance.{rules.scoring.tolerance}")


def _of_event(disputes: Sequence[Dispute], kind: EventType, begin_ms: int, end_ms: int) -> Dispute | None:
    for each in reversed(disputes):
        event = each.event
        if event is None or each.state is State.WITHDRAWN or event.event_type != kind:
            continue
        if event.begin_ms <= end_ms and begin_ms <= event.end_ms:
            return each
    return None


def lasting(seconds: float, say: Say) -> str:
    """A duration in whole minutes, or below two in seconds."""
    whole = max(round(seconds), 1)
    if whole < 2 * _MINUTE_S and whole != _MINUTE_S:
        return say("portal.trip.seconds", n=whole)
    return say("portal.trip.minutes", n=round(whole / _MINUTE_S))


def why(found: "Explanation", *, rules: Rules, say: Say) -> str:
    """Name in one clause what cost a scored trip its points. `rules`: of its score."""
    parts = []
    stretches = [each for each in found.stretches if each.annulled is None]
    if stretches:
        named = {"time": lasting(sum(each.seconds for each in stretches), say), "tolerance": tolerance(rules, say)}
        names = {each.road.name for each in stretches if each.road is not None and each.road.name}
        if all(each.limit_source in ASSUMED for each in stretches):
            parts.append(say("portal.trip.over_assumed", **named))
        elif names:
            parts.append(say("portal.trip.over", n=len(names), count=_count(len(names), say), **named))
        else:
            parts.append(say("portal.trip.over_somewhere", **named))
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


def on_twice_the_distance(outcome: Outcome, rules: Rules) -> float | None:
    """The points that the events of a trip would cost on twice its distance; None if they cost nothing."""
    if outcome.score is None or not outcome.distance_m or outcome.score > _FREE:
        return None
    added_m, twice_m = rules.scoring.added_m, 2 * outcome.distance_m
    burden = score.lacking(outcome.score) * (outcome.distance_m + added_m) / 1_000
    return 100 - score.trip_score(burden, distance_m=twice_m + added_m)


def _count(n: int, say: Say) -> str:
    return say(f"portal.trip.count.{n}") if 1 <= n <= WORDED else f"{n:,}"
