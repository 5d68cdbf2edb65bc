"""Score pages: trend, badge, counts for each 100 km and percentile of a vehicle, person or company; trips that cost
most; the ranking in a company.

REST has the same data: trends, rankings, scores of trips (spec/rest 10.5).
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from litestar.response import Response

from tripline.domain import trends
from tripline.domain.access import Action, Thing
from tripline.domain.disputes import Dispute, State
from tripline.domain.ids import CompanyId, VehicleId
from tripline.domain.trends import Period, Subject
from tripline.http import parameters
from tripline.http.context import Call, context_of
from tripline.portal.frame import addresses, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and
from tripline.portal.scores import charts, policy_words
from tripline.scoring import quality
from tripline.services import admission
from tripline.services.fleet import history
from tripline.services.scores import disputes
from tripline.services.scores import trends as service
from tripline.store.lists import Span
from tripline.store.scores import policies, reads
from tripline.store.scores.policies import Policy
from tripline.store.scores.reads import Owner
from tripline.store.scores.trends import Point
from tripline.store.transactions import ReadTx

NEWEST: Final = 50
"""Newest scored trips among which the page finds those that cost most."""
DEAREST: Final = 10
RANKED: Final = 20
"""Members on a page of a ranking."""
POLICIES: Final = 3
"""Policies in words."""
WAITING: Final = 5
"""Waiting disputes shown."""
SPANS: Final = {Period.DAY: 30, Period.WEEK: 182, Period.MONTH: 365}
"""Days that a chart shows, by its periods."""
_PERIOD: Final = "period"
_OF: Final = "of"
_THINGS: Final = {Subject.VEHICLE: Thing.VEHICLE, Subject.DRIVER: Thing.USER, Subject.COMPANY: Thing.COMPANY}
_OWNERS: Final = {Subject.VEHICLE: Owner.VEHICLE, Subject.DRIVER: Owner.DRIVER}
PLACES: Final = {Subject.VEHICLE: "/scores/vehicles/", Subject.DRIVER: "/scores/people/"}
_TEXTS: Final = "portal.scores."


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A trip with the points that it costs."""

    trip_id: str
    start_ms: int
    """Start of the trip, else the time of its score."""
    score: float
    distance_m: float
    limit_known: float
    cost: float


@page("GET", "/scores/vehicles/{vehicleId}", access=Action.DRIVING_READ)
async def vehicle(request: Call) -> Response[bytes]:
    """The scores of a vehicle."""
    return await _show(request, Subject.VEHICLE, "vehicleId")


@page("GET", "/scores/people/{userId}", access=Action.DRIVING_READ)
async def person(request: Call) -> Response[bytes]:
    """The scores of a person who drives."""
    return await _show(request, Subject.DRIVER, "userId")


@page("GET", "/scores/companies/{companyId}", access=Action.DRIVING_READ)
async def company(request: Call) -> Response[bytes]:
    """The scores of a company, and the ranking of its vehicles or drivers."""
    return await _show(request, Subject.COMPANY, "companyId")


async def _show(request: Call, kind: Subject, name: str) -> Response[bytes]:
    context, query = context_of(request), request.query_params
    of = parameters.path_id(request, name)
    period = next((each for each in Period if each.value == query.get(_PERIOD)), Period.WEEK)
    ranked = Subject.DRIVER if query.get(_OF) == Subject.DRIVER.value else Subject.VEHICLE
    today = trends.day_of(context.clock(), context.time_zone)
    first = trends.first_day(today - SPANS[period], period)

    def work(tx: ReadTx, visitor: Visitor) -> tuple[list[Point], tuple[Policy, ...], dict[str, Any]]:
        admission.admit(tx, visitor.actor, Action.DRIVING_READ, service.THINGS[kind], of)
        points = service.trend(tx, kind, of, period, first=first, last=today, ascending=True, limit=SPANS[period] + 1)
        shown: dict[str, Any] = {"name": history.name_of(tx, _THINGS[kind], of), "trips": None, "after": None}
        if kind is Subject.COMPANY:
            shown |= _ranking(tx, request, visitor, of, ranked, period, today)
        else:
            shown["trips"] = _trips(tx, _OWNERS[kind], of)
        return points, _policies(tx, points), shown

    visitor, (points, weighed, shown) = await visitor_and(request, work, short=False)
    here, name, after = request.scope["path"], shown["name"], shown["after"]
    kept = [*([(_OF, ranked.value)] if kind is Subject.COMPANY else []), (_PERIOD, period.value)]
    return views.show(
        request,
        "scores/subject.html",
        title=views.Plain(visitor.say(_TEXTS + "of", name=name or visitor.say("portal.record.elsewhere"))),
        shown=shown,
        weighed=policy_words.of(visitor, weighed),
        kind=kind.value,
        percentile=points[-1].percentile if points else None,
        span=_TEXTS + "span." + period.value,
        tabs=[
            {
                "text": visitor.say(_TEXTS + "by." + each.value),
                "href": addresses.of(here, [*kept[:-1], (_PERIOD, each.value)]),
                "current": each is period,
            }
            for each in Period
        ],
        rankings=[
            (_TEXTS + each.value, addresses.of(here, [(_OF, each.value), (_PERIOD, period.value)]), each is ranked)
            for each in PLACES
        ],
        next=addresses.of(here, [*kept, (addresses.AFTER, after)]) if after else None,
        first_page=addresses.of(here, kept) if query.get(addresses.AFTER) else None,
        record={Subject.VEHICLE: "/fleet/vehicles/", Subject.DRIVER: None, Subject.COMPANY: "/fleet/companies/"}[kind],
        of=of,
        **charts.values(points, period, first=first, today=today),
    )


def _policies(tx: ReadTx, points: Sequence[Point]) -> tuple[Policy, ...]:
    """The policies by which these periods were scored, at most `POLICIES`, the latest first."""
    numbers = dict.fromkeys(no for point in reversed(points) for no in reversed(point.policies))
    return tuple(filter(None, (policies.one(tx, no) for no in list(numbers)[:POLICIES])))


def _trips(tx: ReadTx, owner: Owner, of: str) -> dict[str, Any] | None:
    """The newest scored trips: how many, their score driven as one, the share of their distance with a speed limit from
    a map (0 to 1), and those that cost most. None: there are none."""
    rows = reads.scores(tx, owner, of, Span(limit=NEWEST))
    if not rows:
        return None
    found = [dict(zip(reads.SCORE, row, strict=True)) for row in rows]
    trip_ids = [each["trip_id"] for each in found]
    known, added = reads.qualities(tx, trip_ids), reads.added(tx, trip_ids)
    metres = math.fsum(each["distance_m"] for each in found) or 1.0
    burdens = [(each["distance_m"] + added[each["trip_id"]]) * math.log(100.0 / each["score"]) for each in found]
    whole = math.fsum(burdens)
    score = trends.pooled(whole, metres=metres, added_m=math.fsum(added.values()), trips=len(found))
    points = (100.0 - score) / whole if whole else 0.0
    costs = [
        Cost(
            trip_id=each["trip_id"],
            start_ms=each["created_ms"],
            score=each["score"],
            distance_m=each["distance_m"],
            limit_known=quality.read(judged).limits.known if (judged := known.get(each["trip_id"])) else 0.0,
            cost=burden * points,
        )
        for each, burden in zip(found, burdens, strict=True)
    ]
    dearest = sorted((each for each in costs if each.cost > 0), key=lambda each: (-each.cost, each.trip_id))[:DEAREST]
    starts = reads.starts(tx, [each.trip_id for each in dearest])
    dearest = [msgspec.structs.replace(each, start_ms=starts.get(each.trip_id, each.start_ms)) for each in dearest]
    limit_known = math.fsum(each.limit_known * each.distance_m for each in costs) / metres
    return {"count": len(costs), "score": score, "limit_known": limit_known, "dearest": dearest}


def _ranking(
    tx: ReadTx, request: Call, visitor: Visitor, of: str, ranked: Subject, period: Period, today: int
) -> dict[str, Any]:
    """A page of the ranking in the current period, what it compares, its last member if more follow, and waiting
    disputes with the numbers of their vehicles."""
    by, found = service.ranking(
        *(tx, ranked, of, period),
        day=trends.first_day(today, period),
        after=parameters.query_id(request.query_params, addresses.AFTER),
        limit=RANKED + 1,
    )
    places = [
        (each, history.name_of(tx, _THINGS[ranked], each.subject), PLACES[ranked] + each.subject)
        for each in found[:RANKED]
    ]
    waiting = disputes.of_company(
        tx, actor=visitor.actor, company_id=CompanyId(of), span=Span(limit=WAITING, ascending=True), state=State.OPEN
    )
    after = found[RANKED - 1].subject if len(found) > RANKED else None
    return {"ranking": places, "by": by, "after": after, "waiting": waiting, "numbers": numbers_of(tx, waiting)}


def numbers_of(tx: ReadTx, found: Iterable[Dispute]) -> dict[VehicleId, str | None]:
    """The numbers of the vehicles of disputes, by vehicle."""
    vehicles = {each.vehicle_id for each in found if each.vehicle_id is not None}
    return {each: history.name_of(tx, Thing.VEHICLE, each) for each in vehicles}
