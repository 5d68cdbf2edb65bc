"""The list of vehicles within a scope, and how many they are."""

from enum import Enum
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Select, Subquery, bindparam, case, exists, func, literal_column, or_, select

from tripline.domain import trips
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.vehicles import Status
from tripline.store import reach, scopes
from tripline.store.fleet import number_keys
from tripline.store.listing import engine
from tripline.store.listing.engine import LISTED, THING, Along, Filter, ListQuery, ListSpec
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.reach import Kind, Why
from tripline.store.tables import account, company, sensor, trip, vehicle, vehicle_company, vehicle_position
from tripline.store.transactions import ReadTx


class Whose(Enum):
    """Whose vehicles to list."""

    OWN = "own"
    """Of the company that asks."""
    OTHERS = "others"
    """Of other companies: of partners, or delegated to this one."""
    DELEGATED = "delegated"
    """Its own that it delegated to others by choice."""


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which vehicles to list; None: any."""

    search: str | None = None
    """Beginning of the number, in any case, or an end of it that ends with four digits (`endings.py`)."""
    status: Status | None = None
    with_sensor: bool | None = None
    driving: bool | None = None
    whose: Whose | None = None
    company_id: CompanyId | None = None
    director_id: UserId | None = None
    holder_id: UserId | None = None
    """Who has a right on them."""


class ListedVehicle(msgspec.Struct, frozen=True):
    """A vehicle as a list shows it."""

    id: VehicleId
    created_ms: int
    vehicle_no: str
    vendor: str | None
    model_name: str | None
    model_year: float | None
    mission_type: str | None
    fuel_type: str | None
    category: str | None
    mileage: float
    status: Status
    company_id: CompanyId
    company_name: str
    director_id: UserId | None
    director_name: str | None
    driver_id: UserId | None
    driver_name: str | None
    sensor_count: int
    serial_no: str | None
    """Of its sensor; of several, any one."""
    delegated_to: int
    """Number of companies that it is delegated to by choice."""
    seen_ms: int | None
    """The time of its newest position."""
    speed_kmh: float | None
    driving: bool


def page(
    tx: ReadTx, scope: Scope, filters: Filters, page_request: PageRequest, *, named: scopes.Reaches = frozenset()
) -> Page[ListedVehicle]:
    """Return the vehicles of the page that are inside the scope, with the names of people within the reaches `named`
    of the same actor."""
    found = SPEC.page(tx, _query(scope, filters), page_request, named)
    if not found.rows and (number := number_keys.other_form(tx, vehicle.c.vehicle_no, scope, filters.search)):
        return page(tx, scope, replace(filters, search=number), page_request, named=named)
    return found.mapped(_listed)


def count(tx: ReadTx, scope: Scope, filters: Filters) -> int:
    """Return how many vehicles inside the scope the filters let pass."""
    found = SPEC.count(tx, _query(scope, filters))
    if not found and (number := number_keys.other_form(tx, vehicle.c.vehicle_no, scope, filters.search)):
        return count(tx, scope, replace(filters, search=number))
    return found


def _query(scope: Scope, filters: Filters) -> ListQuery:
    whose = "" if filters.whose is None else filters.whose.value
    if filters.whose is Whose.OTHERS and reach.within(scope).mask & reach.OF_PEOPLE:
        whose = "others_of_person"
    chosen = {
        "company": filters.company_id,
        "director": filters.director_id,
        "holder": filters.holder_id,
        "status": None if filters.status is None else filters.status.value,
        _WITH.get(filters.with_sensor, ""): True,
        _DRIVING.get(filters.driving, ""): True,
        whose: True,
    }
    return engine.query_of(scope, chosen, filters.search)


_WITH: Final[dict[bool | None, str]] = {True: "with_sensor", False: "without_sensor"}
_DRIVING: Final[dict[bool | None, str]] = {True: "driving", False: "standing"}
_ROW: Final = vehicle.alias("tested")
_CHOSEN: Final = vehicle_company.alias("chosen")
_OPEN: Final = (trip.c.state == literal_column(f"'{trips.State.OPEN}'"), ~trip.c.parking)
_OPEN_HERE: Final = exists().where(trip.c.company_id == _ROW.c.company_id, trip.c.vehicle_id == _ROW.c.id, *_OPEN)
_DRIVES: Final = exists().where(_ROW.c.id == THING, _OPEN_HERE)
_OF_COMPANY: Final = exists().where(_ROW.c.id == THING, _ROW.c.company_id == bindparam(scopes.COMPANY))
_MOUNTED: Final = exists().where(sensor.c.vehicle_id == THING)
# A partner's vehicles go to its operator automatically, and no other company has one so.
_BY_CHOICE: Final = or_(
    _CHOSEN.c.to_company_id < engine.own("master_id"), _CHOSEN.c.to_company_id > engine.own("master_id")
)


def _shown(page: Subquery, named: scopes.Reaches = frozenset()) -> Select[Any]:
    row, director, driver = vehicle.alias("shown"), account.alias("director"), account.alias("driver")
    received = (_CHOSEN.c.vehicle_id == row.c.id) & _CHOSEN.c.automatic.is_(False)
    looked_up: dict[str, ColumnElement[Any]] = {
        "company_name": company.c.name,
        "director_name": case((scopes.accounts(named, director), director.c.name)),
        "driver_id": row.c.current_driver_id,
        "driver_name": case((scopes.accounts(named, driver), driver.c.name)),
        "sensor_count": select(func.count()).where(sensor.c.vehicle_id == row.c.id).scalar_subquery(),
        "serial_no": select(func.min(sensor.c.serial_no)).where(sensor.c.vehicle_id == row.c.id).scalar_subquery(),
        "delegated_to": select(func.count()).where(received).scalar_subquery(),
        "seen_ms": vehicle_position.c.time_ms,
        "speed_kmh": vehicle_position.c.speed_kmh,
        "driving": exists().where(trip.c.company_id == row.c.company_id, trip.c.vehicle_id == row.c.id, *_OPEN),
    }
    joined = (
        page.join(row, row.c.id == page.c.key)
        .join(company, company.c.id == row.c.company_id)
        .outerjoin(director, director.c.id == row.c.director_id)
        .outerjoin(driver, driver.c.id == row.c.current_driver_id)
        .outerjoin(vehicle_position, vehicle_position.c.vehicle_id == row.c.id)
    )
    return select(page.c.place, page.c.key, *engine.fields(_FIELDS, row, looked_up)).select_from(joined)


_FIELDS: Final = ListedVehicle.__struct_fields__
_STATUS, _DRIVEN = _FIELDS.index("status"), _FIELDS.index("driving")


def _listed(row: tuple[Any, ...]) -> ListedVehicle:
    values = [*row[2:]]
    values[_STATUS], values[_DRIVEN] = Status(values[_STATUS]), bool(values[_DRIVEN])
    return ListedVehicle(*values)


SPEC: Final = ListSpec(
    kind=Kind.VEHICLE,
    orders={"number": LISTED.c.sort_key, "created": LISTED.c.created_ms},
    name="number",
    searches=(engine.ending(vehicle.c.vehicle_no),),
    values=("company", "director", "holder", "status", "received", "given"),
    filters={
        "company": Filter(along=Along("company", Why.OWN)),
        "director": Filter(along=Along("director", Why.MANAGED)),
        "holder": Filter(along=Along("holder", Why.DIRECTING | Why.DRIVING)),
        "status": Filter(
            where=select(_ROW.c.status).where(_ROW.c.id == THING).scalar_subquery() == bindparam("status"),
            few=select(vehicle.c.id).where(
                vehicle.c.service_type == engine.own("service_type"), vehicle.c.status == bindparam("status")
            ),
        ),
        "with_sensor": Filter(where=_MOUNTED),
        "without_sensor": Filter(where=~_MOUNTED),
        "driving": Filter(
            where=_DRIVES,
            few=select(trip.c.vehicle_id).where(
                trip.c.company_id.in_(engine.companies_of_type()), trip.c.vehicle_id.is_not(None), *_OPEN
            ),
        ),
        "standing": Filter(where=~_DRIVES),
        "received": Filter(along=Along("received", Why.DELEGATED)),
        "given": Filter(
            along=Along("given", Why.OWN),
            where=exists().where(_CHOSEN.c.vehicle_id == THING),
            few=select(_CHOSEN.c.vehicle_id).where(_CHOSEN.c.from_company_id == bindparam("given")),
        ),
        "own": Filter(along=Along(scopes.COMPANY, Why.OWN)),
        "others": Filter(mine=lambda row: ~reach.has_reason(row, Why.OWN)),
        "others_of_person": Filter(where=~_OF_COMPANY),
        "delegated": Filter(
            along=Along(scopes.COMPANY, Why.OWN),
            where=exists().where(_CHOSEN.c.vehicle_id == THING, _CHOSEN.c.automatic.is_(False)),
            few=select(_CHOSEN.c.vehicle_id).where(_CHOSEN.c.from_company_id == bindparam(scopes.COMPANY), _BY_CHOICE),
        ),
    },
    shown=_shown,
)
