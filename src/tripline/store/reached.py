"""What is within a scope, as sets that are found by index: companies of which every row is, and single vehicles.

`scopes` asks of each row whether it is inside, which is right for a page; a number over a hundred thousand rows would
ask a hundred thousand times. Nothing of other companies is looked at.

Not here: the numbers (`vehicle_counts.py`, `sensor_counts.py`), the lists (`vehicles.py`, `sensors.py`).
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

    Loans from whole companies are left out: to an operator a hundred thousand may be lent by its partners.
    """
    sets = _single(reaches, of_one=of_one)
    return union(*sets) if sets else None


def _single(reaches: scopes.Reaches, *, of_one: bool) -> list[Select[tuple[str]]]:
    sets: list[Select[tuple[str]]] = []
    if Reach.DELEGATED_COMPANY in reaches:
        sets.append(_lent(reaches, of_one=of_one))
    if Reach.MANAGED in reaches:
        managed = vehicle.alias("managed")
        sets.append(select(managed.c.id).where(managed.c.director_id == bindparam(scopes.USER)))
    for reach, role in _ROLES.items():
        if reach in reaches:
            right = (vehicle_user.c.user_id == bindparam(scopes.USER), vehicle_user.c.user_role == role.value)
            sets.append(select(vehicle_user.c.vehicle_id).where(*right))
    return sets


def _lent(reaches: scopes.Reaches, *, of_one: bool) -> Select[tuple[str]]:
    loans = select(vehicle_company.c.vehicle_id).where(vehicle_company.c.to_company_id == bindparam(scopes.COMPANY))
    lender = vehicle_company.c.from_company_id
    if (known := whole(reaches, of_one=False)) is not None:
        loans = loans.where(lender.not_in(known))
    return loans.where(lender == bindparam(COMPANY)) if of_one else loans


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
    """The column as no index has it: who is asked for is found by the other condition, and this one is looked at."""
    return func.coalesce(column, null())
