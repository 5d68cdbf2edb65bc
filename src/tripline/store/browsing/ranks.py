"""The rank of somebody in lists: which company asks, what of it is within reach, how many single vehicles beside."""

import enum
from functools import cache
from typing import Final

import msgspec
from sqlalchemy import Column, ColumnElement, Select, bindparam, select

from tripline.domain.access import Reach, Scope
from tripline.store import reached, scopes
from tripline.store.fleet import number_keys
from tripline.store.tables import company
from tripline.store.transactions import Hot, ReadTx

SINGLES_MANY: Final = 4_000
"""Up to so many, finding and sorting single vehicles takes 20 ms; above, walking along the list meets one soon."""


class Singles(enum.Enum):
    """How many single vehicles are inside; those of whole companies do not count."""

    NONE = enum.auto()
    FEW = enum.auto()
    """Up to `SINGLES_MANY`: they are sorted."""
    MANY = enum.auto()


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """The company of whoever asks, as lists need it."""

    service_type: str
    operator_id: str
    whole_type: bool
    """Whether every row of the service type is inside: an operator's own and its partners'."""
    own: bool
    """Whether every row of the company itself is inside."""


def of_scope(tx: ReadTx, scope: Scope) -> Rank | None:
    """The rank of the scope's company; None without one."""
    rows = tx.hot(_COMPANY, scope.company_id)
    if not rows:
        return None
    service_type, operator_id = rows[0]
    return Rank(
        service_type=service_type,
        operator_id=operator_id,
        whole_type=Reach.PARTNERS in scope.reaches and operator_id == scope.company_id,
        own=Reach.OWN_COMPANY in scope.reaches,
    )


def other_form(tx: ReadTx, rank: Rank | None, number: Column[str], search: str | None) -> str | None:
    """The stored form of a searched number; None when no other form is stored."""
    if rank is None or not search:
        return None
    return number_keys.stored(tx, number, rank.service_type, search)


def singles(tx: ReadTx, scope: Scope) -> Singles:
    """How many single vehicles are inside."""
    if not _has_past(tx, scope, 0):
        return Singles.NONE
    return Singles.MANY if _has_past(tx, scope, SINGLES_MANY) else Singles.FEW


def whole(reaches: scopes.Reaches) -> Select[tuple[str]]:
    """The companies inside as a whole, of reaches that have such."""
    found = reached.whole(reaches, of_one=False)
    assert found is not None
    return found


def beside_whole(owner: ColumnElement[str], reaches: scopes.Reaches) -> list[ColumnElement[bool]]:
    """That the owner is no company inside as a whole: its rows have a source of their own."""
    known = reached.whole(reaches, of_one=False)
    return [] if known is None else [reached.beside_index(owner).not_in(known)]


def _has_past(tx: ReadTx, scope: Scope, count: int) -> bool:
    """Whether there are more single vehicles than so many."""
    past = _past(scope.reaches, count)
    return past is not None and bool(tx.hot(past, scope.user_id, scope.company_id))


@cache
def _past(reaches: scopes.Reaches, count: int) -> Hot | None:
    """The single vehicle after so many; None: there is no such reach."""
    single = reached.single_vehicles(reaches, of_one=False)
    if single is None:
        return None
    ids = single.subquery()
    return Hot(select(ids.c[0]).limit(1).offset(count), scopes.USER, scopes.COMPANY)


_COMPANY: Final = Hot(
    select(company.c.service_type, company.c.master_id).where(company.c.id == bindparam("of_company")), "of_company"
)
