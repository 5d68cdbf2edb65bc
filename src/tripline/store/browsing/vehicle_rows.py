"""Vehicles as a list shows them: each with its people, its sensors, where it was last and to whom it is delegated.

Not here: which of them a page has (`vehicles.py`).
"""

from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, case, exists, func, literal_column, select

from tripline.domain import trips
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.vehicles import Status
from tripline.store import scopes
from tripline.store.tables import account, company, sensor, trip, vehicle, vehicle_company, vehicle_position

CHOSEN: Final = vehicle_company.alias("chosen")
"""The predicates of scopes ask `vehicle_company` too; by another name the two are not mixed up."""
OPEN: Final = (trip.c.state == literal_column(f"'{trips.State.OPEN}'"), ~trip.c.parking)
"""That a trip goes on."""


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
    """How many companies it is delegated to by choice."""
    seen_ms: int | None
    """The time of its newest position."""
    speed_kmh: float | None
    driving: bool


def shown(named: scopes.Reaches, page: Subquery) -> Select[Any]:
    """What a list shows of the vehicles in the subquery, which has their `place` and `key`: these two first. `named`:
    within which reaches people are whose names are shown."""
    row, director, driver = vehicle.alias("shown"), account.alias("director"), account.alias("driver")
    mounted = select(func.count()).where(sensor.c.vehicle_id == row.c.id).scalar_subquery()
    serial_no = select(func.min(sensor.c.serial_no)).where(sensor.c.vehicle_id == row.c.id).scalar_subquery()
    received = (CHOSEN.c.vehicle_id == row.c.id) & CHOSEN.c.automatic.is_(False)
    delegated = select(func.count()).where(received).scalar_subquery()
    drives = exists().where(trip.c.company_id == row.c.company_id, trip.c.vehicle_id == row.c.id, *OPEN)
    looked_up: dict[str, ColumnElement[Any]] = {
        "company_name": company.c.name,
        "director_name": case((scopes.accounts(named, director), director.c.name)),
        "driver_id": row.c.current_driver_id,
        "driver_name": case((scopes.accounts(named, driver), driver.c.name)),
        "sensor_count": mounted,
        "serial_no": serial_no,
        "delegated_to": delegated,
        "seen_ms": vehicle_position.c.time_ms,
        "speed_kmh": vehicle_position.c.speed_kmh,
        "driving": drives,
    }
    columns = [looked_up[name].label(name) if name in looked_up else row.c[name] for name in _FIELDS]
    joined = (
        page.join(row, row.c.id == page.c.key)
        .join(company, company.c.id == row.c.company_id)
        .outerjoin(director, director.c.id == row.c.director_id)
        .outerjoin(driver, driver.c.id == row.c.current_driver_id)
        .outerjoin(vehicle_position, vehicle_position.c.vehicle_id == row.c.id)
    )
    return select(page.c.place, page.c.key, *columns).select_from(joined)


_FIELDS: Final = ListedVehicle.__struct_fields__
_STATUS, _DRIVING = _FIELDS.index("status"), _FIELDS.index("driving")


def listed(row: tuple[Any, ...]) -> ListedVehicle:
    """The vehicle of a row that `shown` selects."""
    values = [*row[2:]]
    values[_STATUS], values[_DRIVING] = Status(values[_STATUS]), bool(values[_DRIVING])
    return ListedVehicle(*values)
