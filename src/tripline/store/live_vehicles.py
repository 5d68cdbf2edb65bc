"""Rows of the live map: positions by the number of their change, and the vehicles with a position within a scope."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, case, exists, literal_column, select

from tripline.domain.access import Scope
from tripline.store import reach, scopes
from tripline.store.positions import FIELDS
from tripline.store.reach import Kind
from tripline.store.tables import account, company, vehicle, vehicle_position
from tripline.store.tables import reach as reach_rows
from tripline.store.transactions import AnyRow, Hot, ReadTx

Moved = tuple[Any, ...]
"""The number of the change, then the values of `positions.FIELDS`."""


class LiveVehicle(NamedTuple):
    """A vehicle as the map names it. Names of people are None beyond the reader's reach."""

    id: str
    number: str
    company: str
    director: str | None
    driver: str | None
    latest_trip_id: str | None


def moved(tx: ReadTx, since_no: int) -> list[Moved]:
    """Positions of all vehicles that were written after the change `since_no`. Takes no scope: the caller selects the
    vehicles of each reader."""
    return tx.hot(_MOVED, since_no)


def moved_within(tx: ReadTx, scope: Scope, since_no: int) -> list[Moved]:
    """As `moved`, of the vehicles inside the scope."""
    return tx.hot(_moved_within(scope.reaches), since_no, scope.user_id, scope.company_id)


def ids(tx: ReadTx, scope: Scope, *, limit: int) -> list[str]:
    """Vehicles with a position inside the scope, by number; at most `limit`."""
    has_position = exists().where(vehicle_position.c.vehicle_id == _HELD.c.thing_id)
    return [row[0] for row in _by_number(tx, scope, select(_HELD.c.thing_id).where(has_position), limit)]


def vehicles(tx: ReadTx, scope: Scope, named: scopes.Reaches, *, limit: int) -> list[LiveVehicle]:
    """As `ids`, with the names of people within the reaches `named` of the same account."""
    rows = (
        select(
            vehicle.c.id,
            vehicle.c.vehicle_no,
            company.c.name,
            case((scopes.accounts(named, _DIRECTOR), _DIRECTOR.c.name)),
            case((scopes.accounts(named, _DRIVER), _DRIVER.c.name)),
            vehicle.c.latest_trip_id,
        )
        .join_from(_HELD, vehicle_position, vehicle_position.c.vehicle_id == _HELD.c.thing_id)
        .join(vehicle, vehicle.c.id == _HELD.c.thing_id)
        .join(company, company.c.id == vehicle.c.company_id)
        .outerjoin(_DIRECTOR, _DIRECTOR.c.id == vehicle.c.director_id)
        .outerjoin(_DRIVER, _DRIVER.c.id == vehicle.c.current_driver_id)
    )
    return [LiveVehicle(*row) for row in _by_number(tx, scope, rows, limit)]


_DIRECTOR, _DRIVER = account.alias("director"), account.alias("driver")
_MOVED_ROWS: Final = select(vehicle_position.c.change_no, *(vehicle_position.c[name] for name in FIELDS)).where(
    vehicle_position.c.change_no > bindparam("since_no")
)
_MOVED: Final = Hot(_MOVED_ROWS, "since_no")
_HELD: Final = reach_rows.alias("seen")


@cache
def _moved_within(reaches: scopes.Reaches) -> Hot:
    held = _MOVED_ROWS.join_from(_HELD, vehicle_position, vehicle_position.c.vehicle_id == _HELD.c.thing_id)
    return Hot(held.where(*_within(reaches)), "since_no", scopes.USER, scopes.COMPANY)


def _within(reaches: scopes.Reaches) -> tuple[ColumnElement[bool], ...]:
    mask = reach.mask_of(reaches)
    principal: ColumnElement[str] = bindparam(scopes.USER if mask & reach.OF_PEOPLE else scopes.COMPANY)
    is_vehicle = _HELD.c.kind == literal_column(str(int(Kind.VEHICLE)))
    return _HELD.c.principal == principal, is_vehicle, reach.has_reason(_HELD, mask)


def _by_number(tx: ReadTx, scope: Scope, rows: Select[Any], limit: int) -> Sequence[AnyRow]:
    ordered = rows.where(*_within(scope.reaches)).order_by(_HELD.c.sort_key, _HELD.c.thing_id)
    return tx.all(ordered.limit(limit), scopes.values(scope))
