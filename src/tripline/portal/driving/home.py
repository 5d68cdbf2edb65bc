"""The driver's page: the vehicle driven now, the newest trips with their dearest event, the trend of the own score.

REST has the same data: the person's trips by start, explanations, trends, the person's record (spec/rest 9.1).
"""

from typing import Any, Final

import msgspec
from litestar.response import Response

from tripline.domain import listed_trips, trends
from tripline.domain.access import Action
from tripline.domain.scores import why_not
from tripline.domain.trends import Period, Subject
from tripline.http.context import Call, context_of, maps_of
from tripline.portal.frame import figures, navigation, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and
from tripline.portal.scores import charts
from tripline.portal.scores.subjects import SPANS
from tripline.portal.trips import costs
from tripline.portal.trips.costs import Cost
from tripline.services import places
from tripline.services.fleet import assignments
from tripline.services.fleet.assignments import Chosen
from tripline.services.scores import trends as service
from tripline.services.scores import trip_view
from tripline.services.scores.trip_view import DriverTrip
from tripline.store.scores.trends import Point as TrendPoint
from tripline.store.transactions import ReadTx

PATH: Final = navigation.DRIVE
SHOWN: Final = 5
_LEAST_POINTS: Final = 0.05
"""An event that costs less rounds to 0.0 points."""


@page("GET", PATH, access=Action.VEHICLE_DRIVE)
async def show(request: Call) -> Response[bytes]:
    """The visitor's own trips and score, and the vehicle driven now."""
    context = context_of(request)
    now_ms = context.clock()
    today = trends.day_of(now_ms, context.time_zone)
    first = trends.first_day(today - SPANS[Period.WEEK], Period.WEEK)

    def work(tx: ReadTx, visitor: Visitor) -> tuple[Chosen | None, list[DriverTrip], list[TrendPoint]]:
        own = visitor.actor.user_id
        points = service.trend(
            *(tx, Subject.DRIVER, own, Period.WEEK),
            first=first,
            last=today,
            ascending=True,
            limit=SPANS[Period.WEEK] + 1,
        )
        trips = trip_view.newest_of_driver(tx, actor=visitor.actor, now_ms=now_ms, limit=SHOWN)
        return assignments.chosen(tx, actor=visitor.actor, user_id=own), trips, points

    visitor, (person, trips, points) = await visitor_and(request, work, short=False)
    return views.show(
        request,
        "driving/home.html",
        title="portal.driving.title",
        person=person,
        trips=await _told(request, visitor, trips),
        scores=f"/scores/people/{visitor.actor.user_id}",
        **charts.values(points, Period.WEEK, first=first, today=today),
    )


async def _told(request: Call, visitor: Visitor, trips: list[DriverTrip]) -> list[dict[str, Any]]:
    """The trips in the driver's words, with the names of their places, all looked up in one call."""
    figure = figures.of(visitor.language, context_of(request).time_zone)
    dearest = [_dearest(each, visitor, figure) for each in trips]
    spots: list[tuple[float, float] | None] = []
    roads: list[str] = []
    for each, cost in zip(trips, dearest, strict=True):
        spots += [each.ends.begin, each.ends.end, None if cost is None else (cost.lat, cost.lon)]
        roads += ["", "", "" if cost is None else cost.road]
    words = await places.shown(maps_of(request).places, spots, language=visitor.language, roads=roads)
    return [
        {
            "trip": each.trip,
            "begin": words[3 * at],
            "end": words[3 * at + 1],
            "dearest": cost and msgspec.structs.replace(cost, where=words[3 * at + 2] or cost.where),
            "explained": each.found is not None,
            "disputed": _disputed(each, cost),
            "grade": (combined := listed_trips.combined([each.trip])) and combined.badge,
            "why_not": None if each.trip.not_scored is None else why_not(each.trip.not_scored).value,
        }
        for at, (each, cost) in enumerate(zip(trips, dearest, strict=True))
    ]


def _dearest(each: DriverTrip, visitor: Visitor, figure: figures.Figures) -> Cost | None:
    if each.found is None:
        return None
    found = costs.rows(each.found, each.disputes, rules=each.rules, say=visitor.say, figures=figure)
    return next((cost for cost in found if cost.points >= _LEAST_POINTS and not cost.annulled), None)


def _disputed(each: DriverTrip, cost: Cost | None) -> str | None:
    of_trip = [dispute for dispute in each.disputes if dispute.event is None]
    dispute = (cost and cost.dispute) or (of_trip[-1] if of_trip else None)
    return None if dispute is None else dispute.state.value
