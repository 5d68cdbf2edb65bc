"""The list of vehicles within a scope, and how many they are."""

from enum import Enum
from typing import Final

import msgspec
from msgspec.structs import replace
from sqlalchemy import FromClause, and_, bindparam, case, exists, false, func, literal_column, or_, select, true

from tripline.domain import trips
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.vehicles import Status
from tripline.store import reach, scopes
from tripline.store.listing import engine
from tripline.store.listing.engine import LISTED, THING, Along, Filter, ListQuery, ListSpec
from tripline.store.listing.noun_list import Looked, NounList, by_field, shown
from tripline.store.reach import Kind, Why
from tripline.store.tables import account, company, sensor, trip, vehicle, vehicle_company, vehicle_position


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


def _query(scope: Scope | None, filters: Filters) -> ListQuery:
    query = by_field(SPEC, scope, filters)
    if filters.whose is Whose.OTHERS and scope is not None and reach.within(scope).mask & reach.OF_PEOPLE:
        others = "whose.others"
        return replace(query, filters=(*(each for each in query.filters if each != others), "others_of_person"))
    return query


_ROW: Final = vehicle.alias("tested")
_CHOSEN: Final = vehicle_company.alias("chosen")
_IS_DRIVING: Final = and_(
    vehicle_position.c.driving.is_not(None),
    trip.c.state != literal_column(f"'{trips.State.COMPLETE}'"),
    ~trip.c.parking,
)
"""Its newest sample is young, and its latest trip was not ended by a message and is not parking (spec/device-messages
4.7)."""
_DRIVEN: Final = (
    select(vehicle_position.c.vehicle_id)
    .join(vehicle, vehicle.c.id == vehicle_position.c.vehicle_id)
    .join(trip, trip.c.id == vehicle.c.latest_trip_id)
    .where(_IS_DRIVING)
)
_DRIVES: Final = _DRIVEN.where(vehicle_position.c.vehicle_id == THING).exists()
_OF_COMPANY: Final = exists().where(_ROW.c.id == THING, _ROW.c.company_id == bindparam(scopes.COMPANY))
_MOUNTED: Final = exists().where(sensor.c.vehicle_id == THING)
# A partner's vehicles go to its operator automatically, and no other company has one so.
_BY_CHOICE: Final = or_(
    _CHOSEN.c.to_company_id < engine.own("master_id"), _CHOSEN.c.to_company_id > engine.own("master_id")
)


def _looked(row: FromClause, named: scopes.Reaches = frozenset()) -> Looked:
    """`named`: reaches of the same actor within which people are named."""
    director, driver = account.alias("director"), account.alias("driver")
    received = (_CHOSEN.c.vehicle_id == row.c.id) & _CHOSEN.c.automatic.is_(False)
    return Looked(
        {
            "company_name": company.c.name,
            "director_name": case((scopes.accounts(named, director), director.c.name)),
            "driver_id": row.c.current_driver_id,
            "driver_name": case((scopes.accounts(named, driver), driver.c.name)),
            "sensor_count": select(func.count()).where(sensor.c.vehicle_id == row.c.id).scalar_subquery(),
            "serial_no": select(func.min(sensor.c.serial_no)).where(sensor.c.vehicle_id == row.c.id).scalar_subquery(),
            "delegated_to": select(func.count()).where(received).scalar_subquery(),
            "seen_ms": vehicle_position.c.time_ms,
            "speed_kmh": vehicle_position.c.speed_kmh,
            "driving": case((_IS_DRIVING, true()), else_=false()),
        },
        [
            (company, company.c.id == row.c.company_id),
            (director, director.c.id == row.c.director_id),
            (driver, driver.c.id == row.c.current_driver_id),
            (vehicle_position, vehicle_position.c.vehicle_id == row.c.id),
            (trip, trip.c.id == row.c.latest_trip_id),
        ],
    )


SPEC: Final = ListSpec(
    kind=Kind.VEHICLE,
    orders={"number": LISTED.c.sort_key, "created": LISTED.c.created_ms},
    name="number",
    searches=(engine.ending(vehicle.c.vehicle_no),),
    filters={
        "company_id": Filter(along=Along("company_id", Why.OWN)),
        "director_id": Filter(along=Along("director_id", Why.MANAGED)),
        "holder_id": Filter(along=Along("holder_id", Why.DIRECTING | Why.DRIVING)),
        "status": Filter(
            where=select(_ROW.c.status).where(_ROW.c.id == THING).scalar_subquery() == bindparam("status"),
            few=select(vehicle.c.id).where(
                vehicle.c.service_type == engine.own("service_type"), vehicle.c.status == bindparam("status")
            ),
        ),
        "with_sensor.True": Filter(where=_MOUNTED),
        "with_sensor.False": Filter(where=~_MOUNTED),
        "driving.True": Filter(
            where=_DRIVES, few=_DRIVEN.where(vehicle_position.c.company_id.in_(engine.companies_of_type()))
        ),
        "driving.False": Filter(where=~_DRIVES),
        "received": Filter(along=Along("received", Why.DELEGATED)),
        "given": Filter(
            along=Along("given", Why.OWN),
            where=exists().where(_CHOSEN.c.vehicle_id == THING),
            few=select(_CHOSEN.c.vehicle_id).where(_CHOSEN.c.from_company_id == bindparam("given")),
        ),
        "whose.own": Filter(along=Along(scopes.COMPANY, Why.OWN)),
        "whose.others": Filter(mine=lambda row: ~reach.has_reason(row, Why.OWN)),
        "others_of_person": Filter(where=~_OF_COMPANY),
        "whose.delegated": Filter(
            along=Along(scopes.COMPANY, Why.OWN),
            where=exists().where(_CHOSEN.c.vehicle_id == THING, _CHOSEN.c.automatic.is_(False)),
            few=select(_CHOSEN.c.vehicle_id).where(_CHOSEN.c.from_company_id == bindparam(scopes.COMPANY), _BY_CHOICE),
        ),
    },
    shown=shown(ListedVehicle, vehicle, _looked),
)
LIST: Final[NounList[Filters, ListedVehicle]] = NounList(
    record=ListedVehicle, spec=SPEC, number=vehicle.c.vehicle_no, query=_query
)
