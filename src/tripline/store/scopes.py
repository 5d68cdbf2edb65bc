"""A scope as SQL: conditions for vehicles, sensors, accounts, companies and trips within a user's reach.

Every store function on customers' rows takes a `Scope` and uses the predicate of its noun:

    select(vehicle, scopes.vehicles(scope.reaches).label("inside")).where(vehicle.c.id == bindparam("id"))
    tx.one(statement, {"id": vehicle_id, **scopes.values(scope)})

A predicate depends on the reaches alone and names its values `scope_user` and `scope_company`, so that it is built once
for each set of reaches (and a hot statement compiled once). A row is inside when any reach holds. Unset values are NULL
in the rows and in the scope, and NULL equals nothing: an account without a company reaches no company's rows.

Trips, scores and GPS events are read through the object in their address: a page of a vehicle asks `vehicles`, a page
of a driver `accounts`, a single trip `trips`.

Not here: which reaches a role has for an action (`domain/access.py`).
"""

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, FromClause, Select, and_, bindparam, exists, false, literal, or_, select, true

from tripline.domain.access import Reach, Scope
from tripline.domain.delegations import UserRole
from tripline.store import tables
from tripline.store.tables import (
    account,
    company,
    rpc_call,
    sensor,
    trip,
    vehicle,
    vehicle_company,
    vehicle_position,
    vehicle_user,
)
from tripline.store.transactions import Hot, ReadTx

Reaches = frozenset[Reach]
R = TypeVar("R")
S = TypeVar("S", bound=Sequence[Any])
Column = ColumnElement[str]

USER = "scope_user"
COMPANY = "scope_company"


def values(scope: Scope) -> dict[str, str | None]:
    """Execution parameters for the predicates' named values."""
    return {USER: scope.user_id, COMPANY: scope.company_id}


def found(rows: Sequence[S], make: Callable[[S], R]) -> tuple[R, bool] | None:
    """Return the record of the first row and whether it is inside the scope (its last column), None without rows."""
    return (make(rows[0]), bool(rows[0][-1])) if rows else None


class Inside:
    """Asks whether things are inside a scope: True or False, None for a thing that does not exist.

    `key`: the column of their ids; `condition`: the one on a row; `there`: rows that do not meet it do not exist.
    """

    def __init__(
        self, key: Column, condition: Callable[[Reaches], ColumnElement[bool]], there: ColumnElement[bool] | None = None
    ) -> None:
        self._key = key
        self._condition = condition
        self._there = true() if there is None else there
        self._one: dict[Reaches, Hot] = {}
        self._some: dict[Reaches, Select[Any]] = {}

    def __call__(self, tx: ReadTx, scope: Scope, thing_id: str) -> bool | None:
        """Return whether the thing is inside."""
        reaches = scope.reaches
        if reaches not in self._one:
            statement = select(self._condition(reaches)).where(self._key == bindparam("id"), self._there)
            self._one[reaches] = Hot(statement, "id", USER, COMPANY)
        rows = tx.hot(self._one[reaches], thing_id, scope.user_id, scope.company_id)
        return bool(rows[0][0]) if rows else None

    def those(self, tx: ReadTx, scope: Scope, thing_ids: Collection[str]) -> set[str]:
        """Return which of these are inside."""
        if not thing_ids:
            return set()
        reaches = scope.reaches
        if reaches not in self._some:
            of = self._key.in_(bindparam("ids", expanding=True))
            self._some[reaches] = select(self._key).where(of, self._condition(reaches))
        return {thing_id for (thing_id,) in tx.all(self._some[reaches], {"ids": list(thing_ids), **values(scope)})}


@cache
def vehicles(reaches: Reaches) -> ColumnElement[bool]:
    """Condition for a row of `vehicle` to be inside."""
    return _any_of(reaches, {**_owned(vehicle.c.company_id), **_on_vehicle(vehicle.c.id)})


@cache
def sensors(reaches: Reaches) -> ColumnElement[bool]:
    """Condition for a row of `sensor` to be inside: by its company, or by the vehicle it is mounted on."""
    return _any_of(reaches, {**_owned(sensor.c.company_id), **_on_vehicle(sensor.c.vehicle_id)})


@cache
def accounts(reaches: Reaches, rows: FromClause = account) -> ColumnElement[bool]:
    """Condition for a row of `account`, or of an alias, to be inside; it also governs a driver's trips and scores."""
    return _any_of(
        reaches,
        {
            **_owned(rows.c.company_id),
            Reach.DELEGATED_COMPANIES: lambda: exists().where(
                vehicle_company.c.from_company_id == bindparam(COMPANY),
                vehicle_company.c.to_company_id == rows.c.company_id,
            ),
            Reach.SELF: lambda: rows.c.id == bindparam(USER),
        },
    )


@cache
def companies(reaches: Reaches) -> ColumnElement[bool]:
    """Condition for a row of `company` to be inside."""
    return _any_of(
        reaches,
        {
            Reach.OWN_COMPANY: lambda: company.c.id == bindparam(COMPANY),
            Reach.PARTNERS: lambda: and_(company.c.master_id == bindparam(COMPANY), company.c.id != bindparam(COMPANY)),
        },
    )


@cache
def trips(reaches: Reaches) -> ColumnElement[bool]:
    """Condition for a row of `trip` to be inside: by its company, its vehicle or its driver."""
    return _any_of(
        reaches,
        {
            **_owned(trip.c.company_id),
            **_on_vehicle(trip.c.vehicle_id),
            Reach.SELF: lambda: trip.c.user_id == bindparam(USER),
        },
    )


@cache
def positions(reaches: Reaches) -> ColumnElement[bool]:
    """Condition for a row of `vehicle_position` to be inside: by the vehicle."""
    return _any_of(reaches, {**_owned(vehicle_position.c.company_id), **_on_vehicle(vehicle_position.c.vehicle_id)})


@cache
def calls(reaches: Reaches) -> ColumnElement[bool]:
    """Condition for a row of `rpc_call` to be inside: by the sensor's owner, or the vehicle it was on."""
    return _any_of(reaches, {**_owned(rpc_call.c.company_id), **_on_vehicle(rpc_call.c.vehicle_id)})


@cache
def history(reaches: Reaches) -> ColumnElement[bool]:
    """Condition for a row of `history` to be inside, by its company, which may have been deleted."""
    row = tables.history.c
    return _any_of(
        reaches,
        {
            Reach.OWN_COMPANY: lambda: row.company_id == bindparam(COMPANY),
            Reach.PARTNERS: lambda: and_(row.master_id == bindparam(COMPANY), row.company_id != bindparam(COMPANY)),
        },
    )


Test = Callable[[], ColumnElement[bool]]


def _any_of(reaches: Reaches, tests: dict[Reach, Test]) -> ColumnElement[bool]:
    if Reach.ANY in reaches:
        return true()
    # In the order of `Reach`, so that the same reaches always give the same SQL text.
    return or_(false(), *(tests[reach]() for reach in Reach if reach in reaches and reach in tests))


def _owned(company_id: Column) -> dict[Reach, Test]:
    """Tests on the company that owns the row. Only operators are masters."""
    under = company.alias("under")
    return {
        Reach.OWN_COMPANY: lambda: company_id == bindparam(COMPANY),
        Reach.PARTNERS: lambda: exists().where(
            under.c.id == company_id, under.c.master_id == bindparam(COMPANY), under.c.id != bindparam(COMPANY)
        ),
    }


def _on_vehicle(vehicle_id: Column) -> dict[Reach, Test]:
    """Tests on the vehicle that the row is, or hangs on."""
    managed = vehicle.alias("managed")
    return {
        Reach.DELEGATED_COMPANY: lambda: exists().where(
            vehicle_company.c.vehicle_id == vehicle_id, vehicle_company.c.to_company_id == bindparam(COMPANY)
        ),
        Reach.MANAGED: lambda: exists().where(managed.c.id == vehicle_id, managed.c.director_id == bindparam(USER)),
        Reach.DIRECTING_RIGHT: lambda: _right(vehicle_id, UserRole.DELEGATED_DIRECTOR),
        Reach.DRIVING_RIGHT: lambda: _right(vehicle_id, UserRole.DRIVER),
    }


def _right(vehicle_id: Column, role: UserRole) -> ColumnElement[bool]:
    return exists().where(
        vehicle_user.c.vehicle_id == vehicle_id,
        vehicle_user.c.user_id == bindparam(USER),
        vehicle_user.c.user_role == literal(role.value),
    )
