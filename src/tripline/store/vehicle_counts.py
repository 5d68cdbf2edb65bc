"""How many vehicles there are: of a company, or all within somebody's reach; those without sensor, those driving now.

Not here: the vehicles themselves (`vehicles.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, exists, false, func, literal_column, or_, select

from tripline.domain import trips
from tripline.domain.access import Reach, Scope
from tripline.domain.delegations import UserRole
from tripline.domain.ids import CompanyId
from tripline.store import scopes
from tripline.store.tables import company, sensor, trip, vehicle, vehicle_company, vehicle_user
from tripline.store.transactions import ReadTx


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which vehicles count; None: both sorts."""

    with_sensor: bool | None = None
    driving: bool | None = None
    """Driving is a vehicle with an open trip that is no parking record."""


def of_company(tx: ReadTx, scope: Scope, company_id: CompanyId, which: Which) -> int:
    """The company's own vehicles inside the scope."""
    return _counted(tx, _of_company(scope.reaches, which), {"company": company_id, **scopes.values(scope)})


def within(tx: ReadTx, scope: Scope, which: Which) -> int:
    """Every vehicle inside the scope; all are of one service type, for nothing reaches beyond."""
    return _counted(tx, _within(scope.reaches, which), scopes.values(scope))


def _counted(tx: ReadTx, statement: Select[Any], values: dict[str, str | None]) -> int:
    return int(tx.all(statement, values)[0][0])


@cache
def _of_company(reaches: scopes.Reaches, which: Which) -> Select[Any]:
    return _count(which).where(vehicle.c.company_id == bindparam("company"), scopes.vehicles(reaches))


@cache
def _within(reaches: scopes.Reaches, which: Which) -> Select[Any]:
    # Not by the service type with `scopes.vehicles` asked of each vehicle: that would look at everybody's.
    return _count(which).where(or_(false(), *(_REACHED[reach]() for reach in Reach if reach in reaches)))


def _count(which: Which) -> Select[Any]:
    statement = select(func.count()).select_from(vehicle)
    if which.with_sensor is not None:
        mounted = exists().where(sensor.c.vehicle_id == vehicle.c.id)
        statement = statement.where(mounted if which.with_sensor else ~mounted)
    if which.driving is not None:
        driving = exists().where(
            trip.c.company_id == vehicle.c.company_id,
            trip.c.vehicle_id == vehicle.c.id,
            trip.c.state == literal_column(f"'{trips.State.OPEN}'"),
            ~trip.c.parking,
        )
        statement = statement.where(driving if which.driving else ~driving)
    return statement


def _with_right(role: UserRole) -> ColumnElement[bool]:
    of_person = and_(vehicle_user.c.user_id == bindparam(scopes.USER), vehicle_user.c.user_role == role.value)
    return vehicle.c.id.in_(select(vehicle_user.c.vehicle_id).where(of_person))


_REACHED: Final[dict[Reach, Callable[[], ColumnElement[bool]]]] = {
    Reach.OWN_COMPANY: lambda: vehicle.c.company_id == bindparam(scopes.COMPANY),
    Reach.PARTNERS: lambda: vehicle.c.company_id.in_(
        select(company.c.id).where(
            company.c.master_id == bindparam(scopes.COMPANY), company.c.id != bindparam(scopes.COMPANY)
        )
    ),
    Reach.DELEGATED_COMPANY: lambda: vehicle.c.id.in_(
        select(vehicle_company.c.vehicle_id).where(vehicle_company.c.to_company_id == bindparam(scopes.COMPANY))
    ),
    Reach.MANAGED: lambda: vehicle.c.director_id == bindparam(scopes.USER),
    Reach.DIRECTING_RIGHT: lambda: _with_right(UserRole.DELEGATED_DIRECTOR),
    Reach.DRIVING_RIGHT: lambda: _with_right(UserRole.DRIVER),
}
"""What `scopes.vehicles` tests of a vehicle, as sets that are found by index; a test holds both equal."""
