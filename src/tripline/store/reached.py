"""The rows within a scope, as sets found by index: whole companies and single vehicles.

`scopes` tests each row, which suits a page; counting a hundred thousand rows would run a hundred thousand tests. These
sets skip other companies' rows.
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

COMPANY = "company"
"""Name of the value that restricts rows to one company."""
_ROLES = {Reach.DIRECTING_RIGHT: UserRole.DELEGATED_DIRECTOR, Reach.DRIVING_RIGHT: UserRole.DRIVER}


def whole(reaches: scopes.Reaches, *, of_one: bool) -> Select[tuple[str]] | None:
    """Select the companies with all vehicles and sensors inside; `of_one` restricts them to one company. None if no
    reach includes a whole company."""
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
    # Rights of both roles are one set: merging two sets takes just as much time.
    if not reaches.isdisjoint(_ROLES):
        sets.append(select(vehicle_user.c.vehicle_id).where(*rights(reaches)))
    return sets


def rights(reaches: scopes.Reaches) -> tuple[ColumnElement[bool], ...]:
    """Conditions for a row of `vehicle_user` to be a right of the acting user, for the roles in the reaches."""
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


def beside_index(column: ColumnElement[str]) -> ColumnElement[str]:
    """The column as no index has it: the other condition finds the rows, and this one filters them."""
    return func.coalesce(column, null())


def tested(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Rewrite a condition that many rows meet, to keep the planner off an index.

    PostgreSQL estimates that an equation with an expression holds for one row in 200, so it prefers to sort all
    remaining rows or to join them by nested loops. For a CASE it estimates every other row.
    """
    return case((condition, true()), else_=false())
