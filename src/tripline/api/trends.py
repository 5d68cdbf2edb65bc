"""Trends of scores by day, week and month, of a vehicle, driver or company, and rankings within a company.

All ours, not of the interface (spec/rest 10.5).
"""

from functools import partial
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

from litestar.types import ASGIApp

from tripline.domain import fields, trends
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.trends import Period, Subject
from tripline.http import pages, parameters, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import Value, operation
from tripline.http.parameters import Query
from tripline.services import admission
from tripline.services.scores import attention
from tripline.services.scores import trends as service
from tripline.services.scores.trends import Place
from tripline.store.lists import Span
from tripline.store.scores.trends import Point
from tripline.store.transactions import ReadTx
from tripline.wire.rest import attention as rest_attention
from tripline.wire.rest.attention import Attention
from tripline.wire.rest.base import Id
from tripline.wire.rest.trends import Per100Km, Ranking, RankingLink, RankingPlace, Trend, TrendLink, TrendPeriod

PERIOD: Final = Value(
    "period", Literal["day", "week", "month"], "over what is summed; `day` when absent. A week begins on Monday", "week"
)
_TREND: Final = (
    pages.LIMIT,
    PERIOD,
    Value("startTime", float, "from the period on that holds this time", 1735657200000),
    Value("endTime", float, "up to the period that holds this time", 1735743600000),
    Value("ascOrder", bool, "true: oldest first; else newest first", False),
)
_LAST_DAY: Final = 2_932_895
"""The end of the year 9999."""
_RANKING: Final = (
    pages.LIMIT,
    pages.ID_OFFSET,
    PERIOD,
    Value("of", Literal["vehicle", "driver"], "who; `vehicle` when absent", "driver"),
    Value("time", float, "in the period that holds this time; now when absent", 1735743600000),
)

_trend_of: Final = partial(operation, "GET", access=Action.DRIVING_READ, answer=Trend, query=_TREND)


@_trend_of("/api/tre/v1_3/vehicle/{vehicleId}/analytics/trend")
async def vehicle_trend(request: Call) -> ASGIApp:
    """The vehicle's scored trips by day, week or month."""
    return await _trend(request, Subject.VEHICLE, "vehicleId")


@_trend_of("/api/tre/v1_3/driver/{driverId}/analytics/trend")
async def driver_trend(request: Call) -> ASGIApp:
    """The scored trips that the person drove, by day, week or month."""
    return await _trend(request, Subject.DRIVER, "driverId")


@_trend_of("/api/tre/v1_3/company/{companyId}/analytics/trend")
async def company_trend(request: Call) -> ASGIApp:
    """The scored trips of the company's sensors by day, week or month."""
    return await _trend(request, Subject.COMPANY, "companyId")


@operation(
    "GET",
    "/api/tre/v1_3/company/{companyId}/analytics/ranking",
    access=Action.DRIVING_READ,
    answer=Ranking,
    query=_RANKING,
)
async def company_ranking(request: Call) -> ASGIApp:
    """The company's vehicles or drivers by score, or by harsh driving, in a day, week or month, the best first."""

    def work(tx: ReadTx, actor: Actor) -> Ranking:
        company_id = parameters.path_id(request, "companyId")
        admission.admit(tx, actor, Action.DRIVING_READ, Thing.COMPANY, company_id)
        query, context = request.query_params, context_of(request)
        limit, period = pages.limit_asked(query), _period(query)
        kind = Subject(fields.one_of("of", parameters.query_text(query, "of"), _RANKED) or Subject.VEHICLE.value)
        after, at_ms = parameters.query_id(query, "idOffset"), pages.time_asked(query, "time")
        now_ms = context.clock()
        day = trends.first_day(trends.day_of(now_ms if at_ms is None else at_ms, context.time_zone), period)
        by, found = service.ranking(*(tx, kind, company_id, period), day=day, after=after, limit=limit + 1)
        shown, link = found[:limit], None
        if len(found) > limit:
            begins_ms = trends.midnight_ms(day, context.time_zone)
            link = RankingLink(kind.value, period.value, begins_ms, limit, shown[-1].subject)
        return Ranking(by, [_place(each) for each in shown], link, link is not None)

    return await reads.many(request, work)


@operation("GET", "/api/tre/v1_3/analytics/attention", access=Action.DRIVING_READ, answer=Attention)
async def scores_to_attend(request: Call) -> ASGIApp:
    """Falling scores, harsh driving, waiting disputes, and vehicles without scores, within the caller's reach."""
    context = context_of(request)

    def work(tx: ReadTx, actor: Actor) -> Attention:
        return rest_attention.record(attention.read(tx, actor=actor, now_ms=context.clock(), zone=context.time_zone))

    return await reads.many(request, work)


async def _trend(request: Call, kind: Subject, name: str) -> ASGIApp:
    """The trend of the subject in the path; refusals in the order of spec/rest 3.3."""

    def work(tx: ReadTx, actor: Actor) -> Trend:
        of = parameters.path_id(request, name)
        admission.admit(tx, actor, Action.DRIVING_READ, service.THINGS[kind], of)
        asked, period = pages.time_page(request), _period(request.query_params)
        zone = context_of(request).time_zone
        found = service.trend(
            *(tx, kind, of, period),
            first=0 if asked.start_ms is None else trends.day_of(asked.start_ms, zone),
            last=_LAST_DAY if asked.end_ms is None else trends.day_of(asked.end_ms, zone),
            ascending=asked.ascending,
            limit=asked.limit + 1,
        )
        shown = [_point(zone, period, each) for each in found[: asked.limit]]
        link = _link(asked, period, shown[-1]) if len(found) > asked.limit else None
        return Trend(shown, link, link is not None)

    return await reads.answer(request, work)


def _link(asked: Span, period: Period, last: TrendPeriod) -> TrendLink:
    """The next page: it begins right behind the last period of this one."""
    start_ms, end_ms = asked.start_ms, asked.end_ms
    if asked.ascending:
        start_ms = last.end_time
    else:
        end_ms = last.start_time - 1
    return TrendLink(period.value, asked.limit, start_ms, end_ms, asked.ascending)


def _period(query: Query) -> Period:
    asked = parameters.query_text(query, PERIOD.name)
    return Period(fields.one_of(PERIOD.name, asked, [each.value for each in Period]) or Period.DAY.value)


def _point(zone: ZoneInfo, period: Period, point: Point) -> TrendPeriod:
    dates = trends.dates(point.day, period, zone)
    return TrendPeriod(
        *_sums(point.sums),
        date=dates.text,
        start_time=dates.begin_ms,
        end_time=dates.end_ms,
        percentile=point.percentile,
        policies=point.policies,
    )


def _place(place: Place) -> RankingPlace:
    return RankingPlace(*_sums(place.sums), id=Id(place.subject), rank=place.rank, compared=place.compared)


def _sums(sums: trends.Sums) -> tuple[Any, ...]:
    """The fields of `TrendSums`, in order: pages have many."""
    per_100_km = sums.per_100_km
    trips, accel, de_accel, over_speed, over_ms, driving_ms, distance_m, *_ = sums
    return (
        *(sums.score, sums.limit_known, sums.harsh_known, sums.badge, trips, distance_m, driving_ms / 1_000),
        *(accel, de_accel, over_speed),
        Per100Km(per_100_km(accel), per_100_km(de_accel), per_100_km(over_speed)),
        *(over_ms / 1_000, sums.over_share),
    )


_RANKED: Final = (Subject.VEHICLE.value, Subject.DRIVER.value)
