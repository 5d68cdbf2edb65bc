"""How many sensors there are: of a company, or all within somebody's reach; all of them or those on no vehicle.

Not here: the sensors themselves (`sensors.py`).
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, false, func, or_, select

from tripline.domain.access import Reach, Scope
from tripline.domain.delegations import UserRole
from tripline.domain.ids import CompanyId
from tripline.store import scopes
from tripline.store.tables import company, sensor, vehicle, vehicle_company, vehicle_user
from tripline.store.transactions import ReadTx


def of_company(tx: ReadTx, scope: Scope, company_id: CompanyId, *, mounted: bool | None = None) -> int:
    """The company's sensors inside the scope; only those on a vehicle, or on none, when asked."""
    return _counted(tx, _of_company(scope.reaches, mounted), {"company": company_id, **scopes.values(scope)})


def within(tx: ReadTx, scope: Scope, *, mounted: bool | None = None) -> int:
    """Every sensor inside the scope, as `of_company`; all are of one service type, for nothing reaches beyond."""
    return _counted(tx, _within(scope.reaches, mounted), scopes.values(scope))


def _counted(tx: ReadTx, statement: Select[Any], values: dict[str, str | None]) -> int:
    return int(tx.all(statement, values)[0][0])


@cache
def _of_company(reaches: scopes.Reaches, mounted: bool | None) -> Select[Any]:
    return _count(mounted).where(sensor.c.company_id == bindparam("company"), scopes.sensors(reaches))


@cache
def _within(reaches: scopes.Reaches, mounted: bool | None) -> Select[Any]:
    # Not by the service type with `scopes.sensors` asked of each sensor: that would look at everybody's.
    return _count(mounted).where(or_(false(), *(_REACHED[reach]() for reach in Reach if reach in reaches)))


def _count(mounted: bool | None) -> Select[Any]:
    statement = select(func.count()).select_from(sensor)
    if mounted is None:
        return statement
    return statement.where(sensor.c.vehicle_id.is_not(None) if mounted else sensor.c.vehicle_id.is_(None))


def _on(vehicles: Select[Any]) -> ColumnElement[bool]:
    return sensor.c.vehicle_id.in_(vehicles)


_REACHED: Final[dict[Reach, Callable[[], ColumnElement[bool]]]] = {
    Reach.OWN_COMPANY: lambda: sensor.c.company_id == bindparam(scopes.COMPANY),
    Reach.PARTNERS: lambda: sensor.c.company_id.in_(
        select(company.c.id).where(
            company.c.master_id == bindparam(scopes.COMPANY), company.c.id != bindparam(scopes.COMPANY)
        )
    ),
    Reach.DELEGATED_COMPANY: lambda: _on(
        select(vehicle_company.c.vehicle_id).where(vehicle_company.c.to_company_id == bindparam(scopes.COMPANY))
    ),
    Reach.MANAGED: lambda: _on(select(vehicle.c.id).where(vehicle.c.director_id == bindparam(scopes.USER))),
    Reach.DIRECTING_RIGHT: lambda: _on(
        select(vehicle_user.c.vehicle_id).where(
            and_(
                vehicle_user.c.user_id == bindparam(scopes.USER),
                vehicle_user.c.user_role == UserRole.DELEGATED_DIRECTOR.value,
            )
        )
    ),
}
"""Each reach of whoever reads sensors, by an index."""
