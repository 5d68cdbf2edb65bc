"""Count vehicles of a company or within a scope: all, those without a sensor, those driving now.

Not here: the vehicles themselves (`vehicles.py`), the sets within a scope (`store/reached.py`).
"""

from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, and_, bindparam, exists, func, literal_column, select

from tripline.domain import trips
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId
from tripline.store import reached, scopes
from tripline.store.tables import sensor, trip, vehicle
from tripline.store.transactions import ReadTx


class Which(msgspec.Struct, frozen=True, kw_only=True):
    """Which vehicles count; None: both sorts."""

    with_sensor: bool | None = None
    driving: bool | None = None
    """A driving vehicle has an open trip other than a parking record."""


def of_company(tx: ReadTx, scope: Scope, company_id: CompanyId, which: Which) -> int:
    """The company's own vehicles inside the scope."""
    return _counted(tx, _count(scope.reaches, which, of_one=True), {reached.COMPANY: company_id}, scope)


def within(tx: ReadTx, scope: Scope, which: Which) -> int:
    """Every vehicle inside the scope; all are of one service type, for nothing reaches beyond."""
    return _counted(tx, _count(scope.reaches, which, of_one=False), {}, scope)


def _counted(tx: ReadTx, statement: Select[Any], values: dict[str, str | None], scope: Scope) -> int:
    return int(tx.all(statement, {**values, **scopes.values(scope)})[0][0])


@cache
def _count(reaches: scopes.Reaches, which: Which, *, of_one: bool) -> Select[Any]:
    """Count the vehicles of whole companies inside, and single vehicles of others."""
    whole, single = reached.whole(reaches, of_one=of_one), reached.single_vehicles(reaches, of_one=of_one)
    numbers: list[ColumnElement[int]] = []
    if whole is not None:
        numbers.append(_number(vehicle.c.company_id.in_(whole), which, trip.c.company_id.in_(whole)))
    if single is not None:
        owner = reached.beside_index(vehicle.c.company_id)
        alone: list[ColumnElement[bool]] = [vehicle.c.id.in_(single)]
        alone += [] if whole is None else [owner.not_in(whole)]
        alone += [owner == bindparam(reached.COMPANY)] if of_one else []
        here = (trip.c.company_id == vehicle.c.company_id) & (trip.c.vehicle_id == vehicle.c.id)
        numbers.append(_number(and_(*alone), which, here))
    return select(sum(numbers[1:], numbers[0]))


def _number(inside: ColumnElement[bool], which: Which, driven: ColumnElement[bool]) -> ColumnElement[int]:
    """How many vehicles are inside; `driven` finds the trips that these may drive."""
    statement = select(func.count()).select_from(vehicle).where(inside)
    if which.with_sensor is not None:
        mounted = exists().where(sensor.c.vehicle_id == vehicle.c.id)
        statement = statement.where(mounted if which.with_sensor else ~mounted)
    if which.driving is not None:
        driving = vehicle.c.id.in_(select(trip.c.vehicle_id).where(driven, *_DRIVING))
        statement = statement.where(driving if which.driving else ~driving)
    return statement.scalar_subquery()


_DRIVING: Final = (
    trip.c.vehicle_id.is_not(None),
    trip.c.state == literal_column(f"'{trips.State.OPEN}'"),
    ~trip.c.parking,
)
