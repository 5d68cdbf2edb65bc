"""The list of trips by start: of a company, a vehicle or a driver, or of everything in reach, in a period."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
from litestar.response import Response

from tripline.domain import fields, listed_trips, trends
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.ids import CompanyId, TripId, UserId, VehicleId
from tripline.domain.listed_trips import ListedTrip, State, TripSums
from tripline.domain.refusals import BadParameter
from tripline.domain.vehicle_days import Ends, Point
from tripline.http.context import Call
from tripline.language.catalogue import Language
from tripline.portal.frame import addresses, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and
from tripline.portal.lists import tables
from tripline.portal.lists.columns import Column, Filter, Kind, Words, each_of
from tripline.portal.lists.tables import COMPANY, ListRequest, Reference, Table
from tripline.ports.maps import PlaceNames
from tripline.services import places
from tripline.services.fleet import people, trip_lists, vehicles
from tripline.services.listings import AtLeast, Listing
from tripline.services.scores.reads import TooLong
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.transactions import ReadTx
from tripline.store.trips import trip_ends, trip_list
from tripline.store.trips.trip_list import TripQuery

DAYS: Final = 7
"""Days of the usual period, with today."""
FROM, TO = "from", "to"
SUMS: Final = "/sums"
_FIRST, _LAST = "first_ms", "last_ms"
_MINUTE_MS: Final = 60_000
_NOWHERE: Final = Ends(None, None)


class TripRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the list."""

    id: TripId
    trip: ListedTrip
    ends: Ends
    begin: str | None = None
    """Where it began, in words; None: no map names it."""
    end: str | None = None


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which trips to list."""

    first_ms: int = 0
    last_ms: int = 0
    vehicle_id: VehicleId | None = None
    driver_id: UserId | None = None
    company_id: CompanyId | None = None
    which: listed_trips.Filters = listed_trips.Filters()


class TripTable(Table, frozen=True, kw_only=True):
    """A list within a period of days."""

    def settled(
        self, chosen: Mapping[str, str], query: Mapping[str, str], *, zone: ZoneInfo, now_ms: int
    ) -> Mapping[str, str]:
        """Add the days of the query, or the usual ones, and the instants of both. Raises `BadParameter`."""
        last = fields.day(TO, query[TO]) if query.get(TO) else trends.day_of(now_ms, zone)
        first = fields.day(FROM, query[FROM]) if query.get(FROM) else last - DAYS + 1
        instants = {_FIRST: trends.midnight_ms(first, zone), _LAST: trends.midnight_ms(last + 1, zone) - 1}
        given = {FROM: trends.text(first), TO: trends.text(last)}
        return {**chosen, **given, **{name: str(at_ms) for name, at_ms in instants.items()}}

    def filtered(self, wanted: ListRequest) -> Filters:
        found: Filters = super().filtered(wanted)
        given = {name: int(wanted.chosen.get(name, "0")) for name in (_FIRST, _LAST)}
        return msgspec.structs.replace(found, **given)


def _which(
    *,
    search: str | None,
    state: State | None = None,
    reason: str | None = None,
    score: tuple[float, float] | None = None,
    disputed: bool | None = None,
    over: bool | None = None,
    **of: Any,
) -> Filters:
    least, most = score or (None, None)
    which = listed_trips.Filters(
        state=state, not_scored=reason, min_score=least, max_score=most, disputed=disputed, over_limit=over
    )
    return Filters(**{name: of[name] for name in ("vehicle_id", "driver_id", "company_id")}, which=which)


def _admitted(tx: ReadTx, actor: Actor, filters: Filters) -> tuple[Actor, TripQuery]:
    query = trip_lists.query_of(
        tx,
        actor=actor,
        first_ms=filters.first_ms,
        last_ms=filters.last_ms,
        vehicle_id=filters.vehicle_id,
        user_id=filters.driver_id,
        company_id=filters.company_id,
        filters=filters.which,
    )
    return actor, query


def _page(tx: ReadTx, actor: Actor, query: TripQuery, page_request: PageRequest) -> Page[TripRow]:
    found = trip_lists.page(tx, actor=actor, query=query, page_request=page_request)
    ends = trip_ends.ends_of(tx, [each.no for each in found.rows])
    return found.mapped(lambda trip: TripRow(id=trip.id, trip=trip, ends=ends.get(trip.no, _NOWHERE)))


def _count(tx: ReadTx, _: Actor, query: TripQuery) -> int:
    found = trip_list.count(tx, query)
    return found.number if found.complete else AtLeast(found.number)


def _named(rows: Sequence[TripRow], names: PlaceNames | None, language: Language) -> Sequence[TripRow]:
    points = [point for row in rows for point in row.ends if point is not None]
    words = places.named(names, points, language=language)
    if not words:
        return rows
    get: Callable[[Point | None], str | None] = words.get  # type: ignore[assignment]  # None is no key
    return [msgspec.structs.replace(row, begin=get(row.ends.begin), end=get(row.ends.end)) for row in rows]


def _start(row: TripRow, words: Words) -> str | None:
    text = words.time(row.trip.start_ms)
    return None if text is None else text[:-3]


def _minutes(row: TripRow, _: Words) -> int | None:
    return None if row.trip.duration_ms is None else round(row.trip.duration_ms / _MINUTE_MS)


def _score(row: TripRow, _: Words) -> str | None:
    return None if row.trip.score is None else f"{row.trip.score:.1f}"


def _limits(row: TripRow, _: Words) -> str | None:
    known = row.trip.limit_known
    return None if known is None or row.trip.score is None else f"{known:.0%}"


def _reason(row: TripRow, words: Words) -> str | None:
    reason = row.trip.not_scored
    if reason is None or reason in listed_trips.REASONS:
        return None if reason is None else words.say(f"portal.lists.filter.reason.{reason}")
    return words.say("portal.trip.why.unknown")  # stored by another version


def _mark(name: str, row: TripRow, words: Words) -> str | None:
    is_so = row.trip.disputed if name == "disputed" else bool(row.trip.over_speed)
    return words.say(f"portal.lists.filter.{name}.yes") if is_so else None


def _more(request: Call, _tx: ReadTx, visitor: Visitor, wanted: ListRequest, found: Page[TripRow]) -> dict[str, Any]:
    gone = (FROM, TO, addresses.AFTER, addresses.BEFORE)
    is_of_one = visitor.role is Authority.DRIVER or any(each.key in wanted.chosen for each in TRIPS.references)
    vehicle_id = wanted.chosen.get("vehicle")
    kept = {name: value for name, value in request.query_params.multi_items() if name not in gone}
    return {
        "first": wanted.chosen[FROM],
        "last": wanted.chosen[TO],
        "kept": kept,
        "sums": addresses.changed(request, **dict.fromkeys(gone[2:])).replace(TRIPS.path, f"{TRIPS.path}{SUMS}", 1)
        if is_of_one
        else None,
        "days": None if vehicle_id is None else f"/fleet/vehicles/{vehicle_id}/days",
        "goes_on": not found.rows and found.more_behind,
    }


_STATE: Final = Filter(key="state", values=each_of(State))
TRIPS: Final = TripTable(
    noun="trips",
    path="/trips",
    access=Action.DRIVING_READ,
    listing=Listing(_page, _count, _admitted),
    which=_which,
    columns=(
        Column(
            "start",
            Kind.TEXT,
            _start,
            order=trip_list.START,
            to=lambda row, around: f"/trips/{row.id}" if around.is_open("/trips/{tripId}") else None,
        ),
        Column(
            "vehicle", Kind.CLIP, "trip.vehicle_no", to=lambda row, around: around.here(vehicle=row.trip.vehicle_id)
        ),
        Column("driver", Kind.CLIP, "trip.driver_name", look="middle", dash=True),
        Column("begin", Kind.CLIP, lambda row, _: places.text(row.ends.begin, row.begin), look="widest"),
        Column("end", Kind.CLIP, lambda row, _: places.text(row.ends.end, row.end), look="widest"),
        Column("begin_at", Kind.TEXT, lambda row, _: places.text(row.ends.begin), shown=False),
        Column("end_at", Kind.TEXT, lambda row, _: places.text(row.ends.end), shown=False),
        Column(
            "km",
            Kind.KM,
            lambda row, _: None if row.trip.distance_m is None else row.trip.distance_m / 1_000,
            look="middle",
        ),
        Column("minutes", Kind.NUMBER, _minutes, look="wide"),
        Column("score", Kind.TEXT, _score, look="number"),
        Column("limits", Kind.TEXT, _limits, look="number"),
        Column("events", Kind.NUMBER, "trip.events", look="wide"),
        Column(
            "state",
            Kind.CHOICE,
            "trip.state",
            choice=_STATE,
            colours={"open": "busy", "ended": "idle", "scored": "good", "unscored": "warning"},
            look="middle",
        ),
        Column("reason", Kind.CLIP, _reason, look="wide"),
        Column("disputed", Kind.TEXT, lambda row, words: _mark("disputed", row, words), shown=False),
        Column("over", Kind.TEXT, lambda row, words: _mark("over", row, words), shown=False),
    ),
    filters=(
        _STATE,
        Filter(key="reason", values={reason: reason for reason in listed_trips.REASONS if reason != "unmapped"}),
        Filter(key="score", values={"poor": (0.0, 74.9999), "fair": (75.0, 89.9999), "good": (90.0, 100.0)}),
        Filter(key="disputed", values={"yes": True}),
        Filter(key="over", values={"yes": True, "no": False}),
    ),
    references=(
        COMPANY,
        Reference(
            key="vehicle",
            name=lambda tx, actor, filters: vehicles.read(tx, actor=actor, vehicle_id=filters.vehicle_id).vehicle_no,
        ),
        Reference(
            key="driver",
            name=lambda tx, actor, filters: (
                people.find(
                    tx, actor=actor, action=Action.USER_READ, role=Authority.DRIVER, user_id=filters.driver_id
                ).name
            ),
        ),
    ),
    usual_sort=lambda _: f"-{trip_list.START}",
    searched=False,
    named=_named,
    icon="route",
    template="lists/trips.html",
    more=_more,
)


@page("GET", f"{TRIPS.path}{SUMS}", access=TRIPS.access)
async def sums(request: Call) -> Response[bytes]:
    """Sums of the trips of a vehicle, a person or a company in the period."""
    wanted = tables.asked(request, TRIPS)

    def work(tx: ReadTx, visitor: Visitor) -> TripSums | None:
        actor, query = _admitted(tx, visitor.actor, TRIPS.filtered(wanted))
        if not (query.vehicle_id or query.user_id or query.company_id):
            raise BadParameter.missing("vehicle")
        try:
            return trip_lists.sums(tx, actor=actor, query=query)
        except TooLong:
            return None

    _, found = await visitor_and(request, work, short=False)
    score = None if found is None else found.score
    return views.show(
        request,
        "lists/trip_sums.html",
        title="portal.lists.trips.sums",
        fragment="sums",
        sums=found,
        badge=None if score is None else score.badge,
        most=trip_lists.SUMMED,
        back=addresses.without(request, SUMS),
    )
