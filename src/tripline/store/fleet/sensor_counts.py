"""Count sensors of a company or within a scope: all of them, or those without a vehicle.

Not here: the sensors themselves (`sensors.py`), the sets within a scope (`store/reached.py`).
"""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, and_, bindparam, func, literal_column, select

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId
from tripline.store import reached, scopes
from tripline.store.tables import sensor
from tripline.store.transactions import ReadTx


def of_company(tx: ReadTx, scope: Scope, company_id: CompanyId, *, mounted: bool | None = None) -> int:
    """The company's sensors inside the scope; only those on a vehicle, or on none, when asked."""
    return _counted(tx, _count(scope.reaches, mounted, of_one=True), {reached.COMPANY: company_id}, scope)


def within(tx: ReadTx, scope: Scope, *, mounted: bool | None = None) -> int:
    """Every sensor inside the scope, as `of_company`; all are of one service type, for nothing reaches beyond."""
    return _counted(tx, _count(scope.reaches, mounted, of_one=False), {}, scope)


def _counted(tx: ReadTx, statement: Select[Any], values: dict[str, str | None], scope: Scope) -> int:
    return int(tx.all(statement, {**values, **scopes.values(scope)})[0][0])


@cache
def _count(reaches: scopes.Reaches, mounted: bool | None, *, of_one: bool) -> Select[Any]:
    """Count the sensors of whole companies inside, and those on single vehicles of others."""
    whole, single = reached.whole(reaches, of_one=of_one), reached.single_vehicles(reaches, of_one=of_one)
    numbers: list[ColumnElement[int]] = []
    if whole is not None:
        numbers.append(_of_whole(sensor.c.company_id.in_(whole), mounted))
    if single is not None and mounted is not False:
        owner = reached.beside_index(sensor.c.company_id)
        alone: list[ColumnElement[bool]] = [sensor.c.vehicle_id.in_(single)]
        alone += [] if whole is None else [owner.not_in(whole)]
        alone += [owner == bindparam(reached.COMPANY)] if of_one else []
        numbers.append(_number(and_(*alone)))
    return select(sum(numbers, literal_column("0", Integer)))


def _of_whole(inside: ColumnElement[bool], mounted: bool | None) -> ColumnElement[int]:
    if mounted is None:
        return _number(inside)
    free = _number(inside & sensor.c.vehicle_id.is_(None))
    # Both counts use indexes alone; mounted sensors have no index of their own.
    return _number(inside) - free if mounted else free


def _number(inside: ColumnElement[bool]) -> ColumnElement[int]:
    return select(func.count()).select_from(sensor).where(inside).scalar_subquery()
