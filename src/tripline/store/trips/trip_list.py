"""Trips by start, of a vehicle, a driver, a company or everything in reach: pages by key, counts up to a bound.

One vehicle's or driver's trips are a walk along its own index. Trips of up to `MERGED` vehicles are the walks of all
of them, merged; of more vehicles, a walk along the trips of the service type, each tested by its row of `reach`. A walk
goes from window to window of some `CHUNK` trips. A page ends after `CHUNKS` windows even if its filters let few trips
pass: it then has fewer rows, and the next page continues where it ended.

The caller checked that vehicle, driver and company are inside the scope.
"""

from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    Select,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    select,
    true,
    tuple_,
)

from tripline.domain import disputes, trips
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.listed_trips import Filters, ListedTrip, State
from tripline.scoring import quality
from tripline.store import reach, scopes
from tripline.store.erasure import erasures
from tripline.store.listing.pages import Page, PageRequest, Place
from tripline.store.reach import PRINCIPAL, Kind, Why
from tripline.store.tables import account, company, dispute, driving_score, trip, vehicle
from tripline.store.tables import reach as reach_table
from tripline.store.transactions import Hot, ReadTx

MERGED: Final = 1_000
"""Most vehicles whose walks are merged."""
CHUNK: Final = 2_000
"""Trips in a window."""
CHUNKS: Final = 5
"""Windows of a page."""
COUNTED: Final = 5_000
"""Counting stops after so many trips."""
COUNT_CHUNKS: Final = 25
"""Windows of a count."""
AMONG: Final = 30_000
"""Trips among which a whole list is read."""
WIDE: Final = 10_000
"""Most vehicles whose walks are merged for a whole list."""
START: Final = "start"
"""The order of the list."""
_HOUR_MS: Final = 3_600_000
_FIRST_MS: Final = 6 * _HOUR_MS
"""First window of a merge of `MERGED` vehicles; fewer vehicles begin with a longer one."""
_NO_MAX: Final = 2**63 - 1


class TripQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which trips to list, within the scope."""

    scope: Scope
    first_ms: int
    """Earliest start."""
    last_ms: int
    """Latest start."""
    vehicle_id: VehicleId | None = None
    user_id: UserId | None = None
    """The driver."""
    company_id: CompanyId | None = None
    """A company: trips of its own vehicles. The reader's company: everything in reach."""
    filters: Filters = Filters()


class Counted(NamedTuple):
    """A bounded count."""

    number: int
    complete: bool
    """False: there may be more."""


class _Way(Enum):
    VEHICLE = "vehicle_id"
    DRIVER = "user_id"
    MERGED = "merged"
    SERVICE = "service_type"


class _Shape(NamedTuple):
    """A statement that finds trips; equal shapes share it."""

    way: _Way
    ascending: bool = False
    mask: Why = Why(0)
    """Reasons of the rows of `reach` that are walked or tested."""
    held: Why | None = None
    """Reasons of the reader's own rows, if a company's are walked; None: not tested."""
    of_company: bool = False
    """Test that the vehicle is the company's own."""
    of_driver: bool = False
    filters: Filters = Filters()
    """The given ones, each with any value."""
    shared: bool = False
    """LATERAL is available."""


class _Walk(NamedTuple):
    shape: _Shape
    values: tuple[Any, ...]
    """In the order of `_WHO`."""
    vehicles: int
    """Number of the merged vehicles."""


class _At(NamedTuple):
    """Start and number of a trip: a place in the list."""

    start_ms: int
    no: int


class _Window(NamedTuple):
    """Starts from `low` to `high`, behind the place."""

    low: int
    high: int


def page(tx: ReadTx, query: TripQuery, request: PageRequest, *, named: scopes.Reaches) -> Page[ListedTrip]:
    """Return a page by start; a page with filters may be short and have more behind it.

    `named`: the reach of the reader on people, who are named within it.
    """
    walk = _walk(tx, query, ascending=not request.falling)
    at = _place(query, request)
    rows: list[_At] = []
    end: _At | None = None
    wanted = request.limit + 1 if query.filters == Filters() else CHUNK // 2
    for window in _windows(tx, walk, query, at, CHUNKS, wanted):
        rows += _found(tx, walk, query, window, at, request.limit + 1 - len(rows))
        end = _behind(walk, window, query)
        if len(rows) > request.limit or end is None:
            break
    full = len(rows) > request.limit
    rows = rows[: request.limit]
    last = _place_at(rows[-1]) if full else None if end is None else _place_at(end)
    more = full or end is not None
    first = _place_at(rows[0]) if rows else request.place
    listed = _listed(tx, query, [no for _, no in rows], named)
    if request.back:
        listed.reverse()
        first, last = last or first, _place_at(rows[0]) if rows else request.place
    return Page(
        rows=listed,
        first=first,
        last=last,
        more_before=more if request.back else request.place is not None,
        more_behind=request.back or more,
    )


def count(tx: ReadTx, query: TripQuery) -> Counted:
    """Count the trips of a list, up to `COUNTED`."""
    walk = _walk(tx, query, ascending=False)
    at = _At(query.last_ms, _NO_MAX)
    number, end = 0, True
    for window in _windows(tx, walk, query, at, COUNT_CHUNKS, CHUNK // 2):
        number += tx.hot(_counting(walk.shape), *walk.values, *window, *at, COUNTED + 1)[0][0]
        end = _behind(walk, window, query) is not None
        if number > COUNTED or not end:
            break
    return Counted(min(number, COUNTED), number <= COUNTED and not end)


def whole(tx: ReadTx, query: TripQuery, most: int, *, named: scopes.Reaches) -> list[ListedTrip] | None:
    """Return the trips of a list, in no order; None: more than `most`, or they are among more than `AMONG`.

    Looked through are the trips of the vehicle, the driver, or the vehicles in reach up to `WIDE`, else those of the
    service type. `named`: as of `page`.
    """
    walk = _walk(tx, query, ascending=False)
    period = _Window(query.first_ms, query.last_ms)
    if walk.shape.way is _Way.SERVICE and _exceeds(tx, walk, period):
        walk = walk._replace(shape=walk.shape._replace(way=_Way.MERGED))
        if tx.hot(_VEHICLES, walk.values[0], WIDE + 1)[0][0] > WIDE or _exceeds(tx, walk, period):
            return None
    elif walk.shape.way is not _Way.SERVICE and _exceeds(tx, walk, period):
        return None
    found = tx.hot(_whole(walk.shape), *walk.values, *period, 0, 0, most + 1)
    return None if len(found) > most else _listed(tx, query, [no for _, no in found], named)


def _exceeds(tx: ReadTx, walk: _Walk, period: _Window) -> bool:
    """Return true if the walk meets more than `AMONG` trips in the period."""
    merged = walk.shape.way is _Way.MERGED
    found = tx.hot(_boundary(walk.shape), *walk.values, *period, 0, 0, AMONG + 1 if merged else AMONG)
    return found[0][0] > AMONG if merged else bool(found)


def place_of(tx: ReadTx, trip_id: str, query: TripQuery) -> Place | None:
    """Return the place of a trip within reach of the query's vehicle, driver or scope; None: it is not in there."""
    walk = _walk(tx, query, ascending=False)
    rows = tx.hot(_one(walk.shape), *walk.values, 0, _NO_MAX, _NO_MAX, _NO_MAX, 1, trip_id)
    return _place_at(_At(*rows[0])) if rows else None


def _place_at(at: _At) -> Place:
    return Place(at.start_ms, str(at.no))


def _place(query: TripQuery, request: PageRequest) -> _At:
    bound = _At(query.last_ms, _NO_MAX) if request.falling else _At(query.first_ms, -1)
    if request.place is None or not isinstance(request.place.value, int) or not _is_number(request.place.key):
        return bound
    place = _At(request.place.value, int(request.place.key))
    return min(place, bound) if request.falling else max(place, bound)


def _is_number(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 20 and int(digits) <= _NO_MAX


def _walk(tx: ReadTx, query: TripQuery, *, ascending: bool) -> _Walk:
    looker = reach.within(query.scope)
    of_other = query.company_id is not None and query.company_id != query.scope.company_id
    shape = _Shape(_Way.SERVICE, ascending, looker.mask, filters=_given(query.filters), shared=tx.shared)
    principal, vehicles = looker.principal, 0
    if query.vehicle_id is not None:
        shape = shape._replace(way=_Way.VEHICLE, of_company=of_other, of_driver=query.user_id is not None)
    elif query.user_id is not None:
        shape = shape._replace(way=_Way.DRIVER, of_company=of_other)
    else:
        if of_other and not looker.mask & reach.OF_PEOPLE:
            # The company's vehicles are walked; the reader's rows are tested.
            shape = shape._replace(mask=Why.OWN, held=looker.mask)
            principal = query.company_id
        elif of_other:
            shape = shape._replace(of_company=True)
        vehicles = tx.hot(_VEHICLES, principal, MERGED + 1)[0][0]
        if vehicles <= MERGED:
            shape = shape._replace(way=_Way.MERGED)
    service_type = _service_type(tx, query) if shape.way is _Way.SERVICE else None
    filters = query.filters
    values = (
        *(principal, looker.principal, query.company_id, query.vehicle_id, query.user_id, service_type),
        *(filters.not_scored, filters.min_score, filters.max_score),
    )
    return _Walk(shape, values, vehicles)


_WHO: Final = (
    *(PRINCIPAL, "looker", "of_company", "of_vehicle", "of_driver", "of_service"),
    *("reason", "min_score", "max_score"),
)
_WINDOW: Final = ("low_ms", "high_ms", "at_ms", "at_no", "most")


def _given(filters: Filters) -> Filters:
    """Return the filters with one value for each that is a parameter."""
    return msgspec.structs.replace(
        filters,
        not_scored=filters.not_scored and "",
        min_score=None if filters.min_score is None else 0.0,
        max_score=None if filters.max_score is None else 0.0,
    )


def _service_type(tx: ReadTx, query: TripQuery) -> str | None:
    found = tx.hot(_SERVICE_TYPE, query.scope.company_id)
    return found[0][0] if found else None


def _windows(tx: ReadTx, walk: _Walk, query: TripQuery, at: _At, most: int, wanted: int) -> Iterator[_Window]:
    """Yield windows in the order of the walk, until the period ends: of up to some `CHUNK` trips, at most so many.

    A window of merged walks has at least `wanted` trips if the period has.
    """
    ascending = walk.shape.ascending
    begin, width = at[0], _FIRST_MS * MERGED // max(walk.vehicles, 1)
    for _ in range(most):
        if not query.first_ms <= begin <= query.last_ms:
            return
        if walk.shape.way is _Way.MERGED:
            window, width = _merged_window(tx, walk, query, begin, width, wanted)
        else:
            low, high = (begin, query.last_ms) if ascending else (query.first_ms, begin)
            found = tx.hot(_boundary(walk.shape), *walk.values, low, high, 0, 0, CHUNK)
            if found and ascending:
                high = max(found[0][0] - 1, low)
            elif found:
                low = min(found[0][0] + 1, high)
            window = _Window(low, high)
        yield window
        begin = window.high + 1 if ascending else window.low - 1


class _Stride(NamedTuple):
    window: _Window
    width: int
    """Of the next window."""


def _merged_window(tx: ReadTx, walk: _Walk, query: TripQuery, begin: int, width: int, wanted: int) -> _Stride:
    """Return a window that begins here and has so many trips if the period has, and the width of the next one."""
    narrowed = False
    while True:
        if walk.shape.ascending:
            window = _Window(begin, min(begin + width, query.last_ms))
        else:
            window = _Window(max(begin - width, query.first_ms), begin)
        number = tx.hot(_boundary(walk.shape), *walk.values, *window, 0, 0, 2 * CHUNK)[0][0]
        if number >= 2 * CHUNK and width > 1:
            width, narrowed = width // 2, True
        elif number < wanted and not narrowed and _behind(walk, window, query) is not None:
            width *= 2
        else:
            return _Stride(window, width)


def _behind(walk: _Walk, window: _Window, query: TripQuery) -> _At | None:
    """Return the place behind the window; None: the period ends with it."""
    if walk.shape.ascending:
        return None if window.high >= query.last_ms else _At(window.high, _NO_MAX)
    return None if window.low <= query.first_ms else _At(window.low, -1)


def _found(tx: ReadTx, walk: _Walk, query: TripQuery, window: _Window, at: _At, limit: int) -> list[_At]:
    return [_At(*row) for row in tx.hot(_page(walk.shape), *walk.values, *window, *at, limit)]


_T: Final = trip.c
_S: Final = driving_score.c
_HELD: Final = reach_table.alias("held")
_ONE: Final[ColumnElement[Any]] = literal_column("1")
_LOW, _HIGH = bindparam("low_ms", type_=BigInteger), bindparam("high_ms", type_=BigInteger)
_MOST: Final = bindparam("most", type_=Integer)
_SERVICE_TYPE: Final = Hot(select(company.c.service_type).where(company.c.id == bindparam("id")), "id")
_OF_KIND: Final = _HELD.c.kind == literal_column(str(int(Kind.VEHICLE)))
_VEHICLES: Final = Hot(
    select(func.count()).select_from(
        select(_ONE).where(_HELD.c.principal == bindparam(PRINCIPAL), _OF_KIND).limit(_MOST).subquery("few")
    ),
    *(PRINCIPAL, "most"),
)


def _in_reach(principal: str, mask: Why) -> ColumnElement[bool]:
    """Return the condition on the vehicle to have such a row of `reach`: read by key, never joined."""
    row = reach_table.alias("near")
    tests = (row.c.thing_id == _T.vehicle_id, row.c.principal == bindparam(principal), reach.has_reason(row, mask))
    return select(_ONE).where(*tests).scalar_subquery().is_not(None)


def _passing(filters: Filters) -> list[ColumnElement[bool]]:
    score = select(_S.score).where(_S.trip_no == _T.no).scalar_subquery()
    over = select(_S.over_speed).where(_S.trip_no == _T.no).scalar_subquery()
    has_score = exists().where(_S.trip_no == _T.no)
    is_open = _T.state == literal_column(f"'{trips.State.OPEN.value}'")
    of_state: dict[State | None, tuple[ColumnElement[bool], ...]] = {
        None: (),
        State.OPEN: (is_open, ~has_score),
        State.ENDED: (~is_open, _T.not_scored.is_(None), ~has_score),
        State.SCORED: (has_score,),
        State.UNSCORED: (~is_open, _T.not_scored.is_not(None), ~has_score),
    }
    found = [*of_state[filters.state]]
    if filters.not_scored is not None:
        found.append(_T.not_scored == bindparam("reason"))
    if filters.min_score is not None:
        found.append(score >= bindparam("min_score", type_=_S.score.type))
    if filters.max_score is not None:
        found.append(score <= bindparam("max_score", type_=_S.score.type))
    if filters.disputed is not None:
        found.append(_disputed() if filters.disputed else ~_disputed())
    if filters.over_limit is not None:
        zero: ColumnElement[Any] = literal_column("0")
        found.append(over > zero if filters.over_limit else over == zero)
    return found


def _disputed() -> ColumnElement[bool]:
    opened: ColumnElement[Any] = literal_column(f"'{disputes.State.OPEN.value}'")
    return exists().where(dispute.c.trip_no == _T.no, dispute.c.state == opened)


def _conditions(shape: _Shape) -> list[ColumnElement[bool]]:
    """Return the conditions on a trip beside the index that is walked."""
    found: list[ColumnElement[bool]] = []
    if shape.way is _Way.SERVICE:
        found.append(_in_reach(PRINCIPAL, shape.mask))
    if shape.way is _Way.DRIVER:
        found.append(erasures.kept(_T.vehicle_id))
    if shape.held is not None:
        found.append(_in_reach("looker", shape.held))
    if shape.of_company:
        found.append(_in_reach("of_company", Why.OWN))
    if shape.of_driver:
        found.append(_T.user_id == bindparam("of_driver"))
    return found + _passing(shape.filters)


def _owner(way: _Way) -> ColumnElement[bool]:
    if way is _Way.VEHICLE:
        return _T.vehicle_id == bindparam("of_vehicle")
    return _T.user_id == bindparam("of_driver") if way is _Way.DRIVER else _T.service_type == bindparam("of_service")


def _in_window() -> tuple[ColumnElement[bool], ...]:
    return _T.start_ms >= _LOW, _T.start_ms <= _HIGH


def _order(shape: _Shape, row: Any) -> tuple[ColumnElement[Any], ...]:
    return (row.start_ms, row.no) if shape.ascending else (row.start_ms.desc(), row.no.desc())


def _walked(shape: _Shape, conditions: list[ColumnElement[bool]], *, sorted_: bool = True) -> Select[Any]:
    """Select start and number of the trips in the window, up to `most`, in the order of the walk."""
    columns = (_T.start_ms, _T.no)
    if shape.way is not _Way.MERGED:
        found = select(*columns).where(_owner(shape.way), *_in_window(), *conditions)
        return found.order_by(*_order(shape, _T)).limit(_MOST) if sorted_ else found.limit(_MOST)
    of_vehicles = [_HELD.c.principal == bindparam(PRINCIPAL), _OF_KIND, reach.has_reason(_HELD, shape.mask)]
    of_vehicle = _T.vehicle_id == _HELD.c.thing_id
    if not shape.shared:
        found = (
            select(*columns).select_from(_HELD.join(trip, of_vehicle)).where(*of_vehicles, *_in_window(), *conditions)
        )
        return found.order_by(*_order(shape, _T)).limit(_MOST) if sorted_ else found.limit(_MOST)
    # The limit keeps PostgreSQL from joining the vehicles with all trips of the window.
    own = select(*columns).where(of_vehicle, *_in_window(), *conditions)
    own = (own.order_by(*_order(shape, _T)) if sorted_ else own).limit(_MOST)
    each = own.lateral("each")
    found = select(each.c.start_ms, each.c.no).select_from(_HELD.join(each, true())).where(*of_vehicles)
    return (found.order_by(*_order(shape, each.c)) if sorted_ else found).limit(_MOST)


@cache
def _page(shape: _Shape) -> Hot:
    here = tuple_(_T.start_ms, _T.no)
    place = tuple_(bindparam("at_ms", type_=BigInteger), bindparam("at_no", type_=BigInteger))
    behind = here > place if shape.ascending else here < place
    return Hot(_walked(shape, [behind, *_conditions(shape)]), *_WHO, *_WINDOW)


@cache
def _counting(shape: _Shape) -> Hot:
    return Hot(_number(_walked(shape, _conditions(shape), sorted_=False)), *_WHO, *_WINDOW)


@cache
def _boundary(shape: _Shape) -> Hot:
    """Select the start of the trip behind the next so many; of a merge, how many trips the window has up to these."""
    shape = shape._replace(filters=Filters())
    if shape.way is _Way.MERGED:
        return Hot(_number(_walked(shape, [], sorted_=False)), *_WHO, *_WINDOW)
    rows = select(_T.start_ms).where(_owner(shape.way), *_in_window()).order_by(*_order(shape, _T))
    return Hot(rows.limit(_ONE).offset(_MOST), *_WHO, *_WINDOW)


@cache
def _whole(shape: _Shape) -> Hot:
    return Hot(_walked(shape, _conditions(shape), sorted_=False), *_WHO, *_WINDOW)


def _number(rows: Select[Any]) -> Select[Any]:
    return select(func.count()).select_from(rows.subquery("few"))


@cache
def _one(shape: _Shape) -> Hot:
    shape = shape._replace(filters=Filters())
    tests = [*_conditions(shape), _T.id == bindparam("of_trip")]
    if shape.way is _Way.MERGED:
        tests.append(_in_reach(PRINCIPAL, shape.mask))
    else:
        tests.append(_owner(shape.way))
    return Hot(select(_T.start_ms, _T.no).where(*tests, _T.start_ms.is_not(None)), *_WHO, *_WINDOW, "of_trip")


_FIELDS: Final = tuple(name for name in ListedTrip.__struct_fields__ if name not in ("limit_known", "harsh_known"))


_PERSON: Final = account.alias("person")


@cache
def _shown(named: scopes.Reaches) -> Select[Any]:
    """Select the fields of these trips and their quality."""
    special: dict[str, ColumnElement[Any]] = {
        "vehicle_no": vehicle.c.vehicle_no,
        "user_id": erasures.mentioned(_T.user_id),
        "driver_name": case((and_(_PERSON.c.id.is_not(None), scopes.accounts(named, _PERSON)), _PERSON.c.name)),
        "life": _T.state,
        "stated_m": _T.distance_m,
        "scored_m": _S.distance_m,
        "disputed": _disputed(),
    }
    of_score = ("score", "added_m", "driving_ms", "accel", "de_accel", "over_speed")
    columns = [special[name] if name in special else (_S if name in of_score else _T)[name] for name in _FIELDS]
    return (
        select(*columns, _T.quality)
        .outerjoin_from(trip, vehicle, vehicle.c.id == _T.vehicle_id)
        .outerjoin(_PERSON, _PERSON.c.id == _T.user_id)
        .outerjoin(driving_score, _S.trip_no == _T.no)
        .where(_T.no.in_(bindparam("nos", expanding=True)))
    )


def _listed(tx: ReadTx, query: TripQuery, nos: list[int], named: scopes.Reaches) -> list[ListedTrip]:
    """Return these trips, in their order."""
    found: dict[int, ListedTrip] = {}
    for *values, body in tx.all(_shown(named), {"nos": nos, **scopes.values(query.scope)}):
        given = dict(zip(_FIELDS, values, strict=True))
        # SQLite has no type for them.
        given |= {name: bool(given[name]) for name in ("parking", "disputed")}
        if body is not None:
            judged = quality.read(body)
            given |= {"limit_known": judged.limits.known, "harsh_known": judged.harsh_known}
        each = ListedTrip(**given)
        found[each.no] = each
    return [found[no] for no in nos if no in found]
