"""Rows of relations between companies: candidates for delegation, and recipients of delegations."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, String, Subquery, and_, bindparam, delete, exists, insert, or_, select

from tripline.domain.access import Scope
from tripline.domain.delegations import Relation, Standing
from tripline.domain.ids import CompanyId
from tripline.store import lists, records, scopes
from tripline.store.listing.engine import Filter, ListSpec
from tripline.store.tables import company, company_relation, vehicle_company
from tripline.store.transactions import Hot, ReadTx, WriteTx

_RECEIVER: Final = company.alias("receiver")


_made: Final = records.maker(Relation)


def standing(tx: ReadTx, from_company: CompanyId, to_company: CompanyId) -> Standing:
    """The relation of the second company to the first. Automatic delegations do not count, since they are not a
    choice."""
    registered, delegated = tx.hot(_STANDING, from_company, to_company)[0]
    if delegated:
        return Standing.DELEGATED
    return Standing.CANDIDATE if registered else Standing.STRANGER


def of_company(
    tx: ReadTx, scope: Scope, company_id: CompanyId, *, delegated: bool, window: lists.Window
) -> Sequence[Relation]:
    """The company's candidates, or its delegated companies, by name, when it is inside the scope.

    Raises `UnknownOffset`.
    """
    rows = lists.page(tx, _LIST, scope, {"company": company_id, _KIND[delegated]: True}, window)
    return [_made(row) for row in rows]


def insert_new(tx: WriteTx, new: Relation) -> None:
    """Keep a candidate that the company does not have yet."""
    tx.run(insert(company_relation), {column.name: getattr(new, column.name) for column in company_relation.c})


def remove(tx: WriteTx, from_company: CompanyId, to_company: CompanyId) -> None:
    """Forget a candidate."""
    tx.run(_REMOVE, {"from_company": from_company, "to_company": to_company})


def forget_company(tx: WriteTx, company_id: CompanyId) -> None:
    """End every relation of a company that is about to be deleted. The caller checked permission."""
    of_company = or_(company_relation.c.from_company_id == company_id, company_relation.c.to_company_id == company_id)
    tx.run(delete(company_relation).where(of_company))


def _delegates(from_company: ColumnElement[str], to_company: ColumnElement[str]) -> ColumnElement[bool]:
    """Condition for the first to have delegated a vehicle to the second. Only delegations to its operator are
    automatic.

    The delegations' own flags are not read, since a partner may have a hundred thousand of them to its operator.
    """
    owner = company.alias("owner")
    return and_(
        exists().where(owner.c.id == from_company, owner.c.master_id != to_company),
        exists().where(
            vehicle_company.c.from_company_id == from_company, vehicle_company.c.to_company_id == to_company
        ),
    )


def _shown(page: Subquery) -> Select[Any]:
    relation = company_relation.c
    columns = (company.c.id, company.c.name, _RECEIVER.c.id, _RECEIVER.c.name, company.c.service_type)
    return (
        select(page.c.place, page.c.key, relation.id, relation.created_ms, *columns)
        .join_from(page, company_relation, relation.id == page.c.key)
        .join(company, company.c.id == relation.from_company_id)
        .join(_RECEIVER, _RECEIVER.c.id == relation.to_company_id)
    )


_BOTH: Final = (bindparam("from_company", type_=String), bindparam("to_company", type_=String))
_PAIR: Final = (company_relation.c.from_company_id == _BOTH[0], company_relation.c.to_company_id == _BOTH[1])
_STANDING: Final = Hot(select(exists().where(*_PAIR), _delegates(*_BOTH)), "from_company", "to_company")
_REMOVE: Final = delete(company_relation).where(*_PAIR)
_OF_COMPANY: Final = company_relation.c.from_company_id == bindparam("company")
_DELEGATES: Final = _delegates(company_relation.c.from_company_id, company_relation.c.to_company_id)
_KIND: Final = {True: "delegated", False: "candidates"}
_LIST: Final = ListSpec(
    rows=company_relation,
    key=company_relation.c.id,
    orders={"name": _RECEIVER.c.name},
    name="name",
    inside=scopes.companies,
    filters={
        "company": Filter(where=_OF_COMPANY, few=select(company_relation.c.id).where(_OF_COMPANY)),
        "delegated": Filter(where=_DELEGATES),
        "candidates": Filter(where=~_DELEGATES),
    },
    always=(
        Filter(where=company.c.id == company_relation.c.from_company_id),
        Filter(where=_RECEIVER.c.id == company_relation.c.to_company_id),
    ),
    shown=_shown,
)
