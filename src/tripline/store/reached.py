"""The rows within a scope, as sets found by index: companies of which every row counts, and single vehicles.

`scopes` asks of each row whether it is inside, which is right for a page; a number over a hundred thousand rows would
ask a hundred thousand times. Nothing of other companies is looked at.

Not here: the numbers (`store/fleet/vehicle_counts.py`, `store/fleet/sensor_counts.py`), the lists
(`store/fleet/vehicles.py`, `store/fleet/sensors.py`).
"""

from functools import cache
from typing import Final

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Integer,
    Select,
    and_,
    bindparam,
    case,
    false,
    func,
    literal_column,
    null,
    or_,
    select,
    true,
    union,
    union_all,
)

from tripline.domain.access import Reach, Scope
from tripline.domain.delegations import UserRole
from tripline.store import scopes
from tripline.store.tables import company, vehicle, vehicle_company, vehicle_user
from tripline.store.transactions import Hot, ReadTx

MANY: Final = 1_000
"""Up to so many, sorting single vehicles takes 2 ms; above, walking along a company's list meets one soon."""
COMPANY = "company"
"""Name of the value that says of which company alone the rows are."""
_ROLES = {Reach.DIRECTING_RIGHT: UserRole.DELEGATED_DIRECTOR, Reach.DRIVING_RIGHT: UserRole.DRIVER}


def whole(reaches: scopes.Reaches, *, of_one: bool) -> Select[tuple[str]] | None:
    """The companies of which every vehicle and sensor is inside; of one: that company or none. None: no such reach."""
    mine = company.c.id == bindparam(scopes.COMPANY)
    partner = company.c.master_id == bindparam(scopes.COMPANY)
    tests = {Reach.ANY: true(), Reach.OWN_COMPANY: mine, Reach.PARTNERS: and_(partner, ~mine)}
    wanted = [test for reach, test in tests.items() if reach in reaches]
    if not wanted:
        return None
    found = select(company.c.id).where(or_(*wanted))
    return found.where(company.c.id == bindparam(COMPANY)) if of_one else found


def single_vehicles(reaches: scopes.Reaches, *, of_one: bool) -> CompoundSelect[tuple[str]] | None:
    """The vehicles that are inside by themselves; they may be of a whole company as well. None: no such reach.

    Delegations from whole companies are left out: to an operator a hundred thousand may be delegated by its partners.
    """
    sets = _single(reaches, of_one=of_one)
    return union(*sets) if sets else None


def _single(reaches: scopes.Reaches, *, of_one: bool) -> list[Select[tuple[str]]]:
    sets: list[Select[tuple[str]]] = []
    if Reach.DELEGATED_COMPANY in reaches:
        sets.append(_delegated(reaches, of_one=of_one))
    if Reach.MANAGED in reaches:
        managed = vehicle.alias("managed")
        sets.append(select(managed.c.id).where(managed.c.director_id == bindparam(scopes.USER)))
    # Rights of both roles are one set: to make two into one takes as long as to find them.
    if not reaches.isdisjoint(_ROLES):
        sets.append(select(vehicle_user.c.vehicle_id).where(*rights(reaches)))
    return sets


def rights(reaches: scopes.Reaches) -> tuple[ColumnElement[bool], ...]:
    """Whether a row of `vehicle_user` is a right of the one who asks, of reaches that have such."""
    roles = [vehicle_user.c.user_role == role.value for reach, role in _ROLES.items() if reach in reaches]
    return vehicle_user.c.user_id == bindparam(scopes.USER), or_(*roles)


def _delegated(reaches: scopes.Reaches, *, of_one: bool) -> Select[tuple[str]]:
    delegations = select(vehicle_company.c.vehicle_id).where(
        vehicle_company.c.to_company_id == bindparam(scopes.COMPANY)
    )
    owner = vehicle_company.c.from_company_id
    if (known := whole(reaches, of_one=False)) is not None:
        delegations = delegations.where(owner.not_in(known))
    return delegations.where(owner == bindparam(COMPANY)) if of_one else delegations


def singles(reaches: scopes.Reaches) -> CompoundSelect[tuple[str]]:
    """As `single_vehicles`, of reaches of which `few` has said that there is one."""
    return union(*_single(reaches, of_one=False))


def few(tx: ReadTx, scope: Scope) -> bool:
    """Whether no company is inside as a whole, and up to `MANY` vehicles: those that somebody directs or may drive."""
    past = _past_many(scope.reaches)
    return past is not None and not tx.hot(past, scope.user_id, scope.company_id)


@cache
def _past_many(reaches: scopes.Reaches) -> Hot | None:
    sets = _single(reaches, of_one=False)
    if not sets or whole(reaches, of_one=False) is not None:
        return None
    ids = union_all(*sets).subquery()
    past = select(ids.c[0]).limit(literal_column("1", Integer)).offset(literal_column(str(MANY), Integer))
    return Hot(past, scopes.USER, scopes.COMPANY)


def beside_index(column: ColumnElement[str]) -> ColumnElement[str]:
    """The column as no index has it: the other condition finds the rows, and this one filters them."""
    return func.coalesce(column, null())


def tested(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """The condition as no index has it, where many rows meet it.

    PostgreSQL takes an equation of an expression to hold of one row in 200, and rather sorts all that is left, or
    compares each row with each. Of a CASE it expects every other row.
    """
    return case((condition, true()), else_=false())
