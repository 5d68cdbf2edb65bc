"""The page of a trip: its sentence, score, map and chart, what cost points, disputes, data quality, neighbours.

It says when the trip changed since it was opened. Not here: contesting and deciding (`contests.py`), drawing
(`static/trip.js`), the track (`api/tracks.py`).
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar.response import Response

from tripline.domain import trends
from tripline.domain.access import Action
from tripline.domain.disputes import Dispute, State
from tripline.domain.ids import TripId
from tripline.domain.stored_trips import JudgedTrip
from tripline.http import parameters
from tripline.http.context import Call, context_of, maps_of, scores_of
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.portal.frame import base_map, figures, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and
from tripline.portal.trips.costs import SHAPES, Cost, allowed, on_twice_the_distance, rows, tolerance, why
from tripline.scoring import certainty, quality
from tripline.scoring.quality import Limits, LimitSource, Quality
from tripline.scoring.rules import Column
from tripline.services import places
from tripline.services.scores import trip_view
from tripline.services.scores.reads import TooLong
from tripline.services.scores.trip_view import TripView

if TYPE_CHECKING:
    from tripline.services.scores.explanation import Explanation

PATH: Final = "/trips"
COSTS: Final = 100
"""Most events in the table; the others are summed up."""
_POLL_S: Final = 10
_CHANGED: Final = "changed"
_TEXTS: Final = (
    *("at", "at_assumed", "at_unknown", "no_speed", "thinned", "linked", "play", "pause", "map.begin", "map.end"),
)
"""Texts of the script, by their name after `portal.trip.`."""
STATED: Final = ("tagged", "implied")
"""Sources of limits that the map states, by their name in `quality.Limits`."""
OTHERS: Final = ("road_class", "default", "none")
_SAME: Final = 0.05
"""Points that differ by less look alike."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A trip in the reader's words."""

    view: TripView
    found: "Explanation | None"
    sentence: str
    costs: list[Cost]
    begin: str | None
    """Where it began, in words or as coordinates; None: unknown."""
    end: str | None
    quality: Quality | None


@page("GET", f"{PATH}/{{tripId}}", access=Action.DRIVING_READ, refuses=(TooLong,))
async def show(request: Call) -> Response[bytes]:
    """A trip, its score, and what cost points."""
    context, trip_id = context_of(request), parameters.trip_id(request)

    visitor, state = await visitor_and(
        request, lambda tx, visitor: views.state_of(*trip_view.version(tx, actor=visitor.actor, trip_id=trip_id))
    )
    if views.is_partial(request) and views.target_of(request) == _CHANGED:
        if views.is_shown(request, state):
            return views.unchanged()
        return views.show(
            request, "trips/trip.html", title="portal.trip.title", fragment=_CHANGED, changed=True, state=state
        )
    told = await told_of(request, trip_id)
    return views.show(
        request,
        "trips/trip.html",
        title=views.Plain(told.sentence),
        state=state,
        changed=False,
        poll_s=_POLL_S,
        texts=_texts(visitor),
        zone=context.time_zone.key,
        day=trends.text(trends.day_of(began_ms(told.view.trip), context.time_zone)),
        shapes={kind.value: shape for kind, shape in SHAPES.items()},
        **values(visitor, told),
        **base_map.values(request),
    )


def values(visitor: Visitor, told: Told) -> dict[str, Any]:
    """Values of the templates about a trip."""
    view, found = told.view, told.found
    sources = [] if told.quality is None else _percents(told.quality)
    limits = [] if found is None else found.limits
    lost = 0.0 if view.outcome.score is None else 100 - view.outcome.score
    shown, others = told.costs[:COSTS], told.costs[COSTS:]
    return {
        "told": told,
        "view": view,
        "trip": view.trip,
        "outcome": view.outcome,
        "found": found,
        "base": f"{PATH}/{view.trip.id}",
        "vehicle_no": view.vehicle_no or visitor.say("portal.trip.no_vehicle"),
        "costs": shown,
        "lost": lost,
        "rounded": abs(sum(round(each.points, 1) for each in told.costs) - round(lost, 1)) >= _SAME,
        "curved": any(_gains_less(each, 100 - lost) for each in shown),
        "longer": on_twice_the_distance(view.outcome, view.rules),
        "tolerance": tolerance(view.rules, visitor.say),
        # The kind of vehicle whose thresholds the trip was judged by.
        "kind": told.quality and visitor.say(f"portal.trip.kind.{Column(told.quality.column).name.lower()}"),
        "allowed": [] if told.quality is None else allowed(told.quality.column, view.rules, visitor.say),
        "alike": "manoeuvres" if view.rules.style.over_20_weight or view.rules.style.over_35_weight else "seconds",
        # The limit of the policy for roads whose limit is not known, if it was used.
        "general": next((each.limit_kmh for each in limits if each.limit_source is LimitSource.DEFAULT), None),
        "others": len(others),
        "others_points": sum(each.points for each in others),
        "certainty": None if told.quality is None else certainty.of_events(told.quality),
        "sources": sources,
        "derived": told.quality is not None and _are_derived(told.quality),
        "known": sum(percent for name, percent in sources if name in STATED),
        "assumes": any(name in ("road_class", "default") for name, _ in sources),
        "disputes": [(each, _may(visitor, view, each)) for each in view.disputes],
        "contests": Action.DISPUTE_OPEN in view.may and view.outcome.score is not None,
        "corrects": Action.DISPUTE_DECIDE in view.may
        and not view.outcome.under_way
        and view.trip.vehicle_id is not None
        and visitor.actor.user_id not in (view.trip.user_id, view.recorded_driver),
        "shares": Action.VEHICLE_SHARE in view.may and not view.outcome.under_way and view.trip.vehicle_id is not None,
        "whole": any(each.event is None and each.state in (State.OPEN, State.ACCEPTED) for each in view.disputes),
    }


async def told_of(request: Call, trip_id: TripId) -> Told:
    """The trip in the visitor's words. Raises `NotFound`, `Forbidden`, `TooLong`, `Outage`."""
    context = context_of(request)
    visitor, view = await visitor_and(
        request, lambda tx, visitor: trip_view.read(tx, actor=visitor.actor, trip_id=trip_id), short=False
    )
    found = None
    if view.facts is not None:
        found = await asyncio.to_thread(trip_view.explained, view.facts, context.time_zone, scores_of(request).roads)
    figure = figures.of(visitor.language, context.time_zone)
    costs = []
    if found is not None and view.outcome.score is not None:
        costs = rows(found, view.disputes, rules=view.rules, say=visitor.say, figures=figure)
    shown = costs[:COSTS]
    points: list[tuple[float, float] | None] = [*view.ends, *((each.lat, each.lon) for each in shown)]
    roads = ["", "", *(each.road for each in shown)]
    names = await places.shown(maps_of(request).places, points, language=visitor.language, roads=roads)
    costs[:COSTS] = [
        msgspec.structs.replace(each, where=name or each.where) for each, name in zip(shown, names[2:], strict=True)
    ]
    return Told(
        view=view,
        found=found,
        sentence=sentence(view, found, visitor.language, figure),
        costs=costs,
        begin=names[0],
        end=names[1],
        quality=None if view.trip.quality is None else quality.read(view.trip.quality),
    )


def sentence(view: TripView, found: "Explanation | None", language: Language, figure: figures.Figures) -> str:
    """Sum up the trip in one sentence, without its full stop."""

    def say(name: str, /, **named: Any) -> str:
        return catalogue.text(name, language, **named)

    vehicle = view.vehicle_no or say("portal.trip.no_vehicle")
    outcome = view.outcome
    if outcome.under_way:
        return say("portal.trip.sentence.open", vehicle=vehicle, time=figure.time(began_ms(view.trip)))
    bare = "" if outcome.distance_m is not None else "_bare"
    named = {} if outcome.distance_m is None else {"distance": figure.km(outcome.distance_m / 1_000)}
    if outcome.score is not None and found is not None:
        points = say("portal.trip.points", score=figure.number(outcome.score, 1))
        reason = why(found, rules=view.rules, say=say)
        return say(f"portal.trip.sentence.scored{bare}", vehicle=vehicle, points=points, why=reason, **named)
    if outcome.why_not is None:
        return say("portal.trip.sentence.waiting", vehicle=vehicle)
    return say(f"portal.trip.sentence.unscored{bare}", vehicle=vehicle, **named)


def began_ms(trip: JudgedTrip) -> int:
    """When the trip began, or was created."""
    return trip.created_ms if trip.start_ms is None else trip.start_ms


def _may(visitor: Visitor, view: TripView, dispute: Dispute) -> frozenset[str]:
    """What the visitor may do with a dispute: `withdraw`, `decide`."""
    if dispute.state is not State.OPEN:
        return frozenset()
    own = visitor.actor.user_id
    may = {"withdraw"} if own == dispute.opened_by else set()
    if Action.DISPUTE_DECIDE in view.may and own not in (dispute.opened_by, dispute.driver_id):
        may.add("decide")
    return frozenset(may)


def _gains_less(cost: Cost, score: float) -> bool:
    """True if the figures shown say that without it the score rises by less than its points."""
    shown = [round(each, 1) for each in (cost.without_it or 0.0, score, cost.points)]
    return cost.without_it is not None and shown[0] - shown[1] < shown[2] - _SAME


def _are_derived(found: Quality) -> bool:
    """True if the speeds come from positions, because the device sent few or none."""
    return 2 * found.repairs.get("filled_speeds", 0) > found.samples


def _percents(found: Quality) -> list[tuple[str, int]]:
    """Sources of limits with their share of the distance in whole percent, which add up to 100; those that the map
    states, to the share of known limits as every page shows it."""
    known = round(100 * found.limits.known)
    percents = _apportioned(found.limits, STATED, known) | _apportioned(found.limits, OTHERS, 100 - known)
    return [(name, percent) for name, percent in percents.items() if percent]


def _apportioned(limits: Limits, names: Sequence[str], total: int) -> dict[str, int]:
    """Percents of these sources that add up to this total: the largest remainders are rounded up."""
    shares = {name: getattr(limits, name) for name in names}
    whole = sum(shares.values()) or 1
    exact = {name: total * share / whole for name, share in shares.items()}
    percents = {name: int(each) for name, each in exact.items()}
    most = sorted(exact, key=lambda name: percents[name] - exact[name])
    for name in most[: total - sum(percents.values())]:
        percents[name] += 1
    return percents


def _texts(visitor: Visitor) -> str:
    # The script fills in the values, so their names stand for themselves.
    held = {name: f"{{{name}}}" for name in ("time", "speed", "limit", "shown", "all")}
    texts = {name: visitor.say(f"portal.trip.{name}", **held) for name in _TEXTS}
    texts |= {shape: visitor.say(f"portal.trip.event.{shape}") for shape in SHAPES.values()}
    return msgspec.json.encode(texts).decode()
