"""Rows of relations between companies: candidates for delegation, and recipients of delegations.

Not here: the delegations (`delegations.py`).
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, exists, insert, or_, select

from tripline.domain.access import Scope
from tripline.domain.delegations import Relation, Standing
from tripline.domain.ids import CompanyId, RecordId
from tripline.store import lists, scopes
from tripline.store.tables import company, company_relation, vehicle_company
from tripline.store.transactions import Hot, ReadTx, WriteTx

_RECEIVER: Final = company.alias("receiver")
_FIELDS: Final = list(Relation.__struct_fields__)
_PAIR: Final = (
    company_relation.c.from_company_id == bindparam("from_company"),
    company_relation.c.to_company_id == bindparam("to_company"),
)
_REMOVE: Final = delete(company_relation).where(*_PAIR)
_FORGET_COMPANY: Final = delete(company_relation).where(
    or_(
        company_relation.c.from_company_id == bindparam("company"),
        company_relation.c.to_company_id == bindparam("company"),
    )
)


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
    rows = _OF_COMPANY.page(tx, window, (company_id, scope.user_id, scope.company_id), scope.reaches, delegated)
    return [Relation(**dict(zip(_FIELDS, row, strict=True))) for row in rows]


def insert_new(
    tx: WriteTx, *, relation_id: RecordId, from_company_id: CompanyId, to_company_id: CompanyId, now_ms: int
) -> None:
    """Keep a candidate that the company does not have yet."""
    tx.run(
        insert(company_relation),
        {
            "id": relation_id,
            "created_ms": now_ms,
            "from_company_id": from_company_id,
            "to_company_id": to_company_id,
        },
    )


def remove(tx: WriteTx, from_company: CompanyId, to_company: CompanyId) -> None:
    """Forget a candidate."""
    tx.run(_REMOVE, {"from_company": from_company, "to_company": to_company})


def forget_company(tx: WriteTx, company_id: CompanyId) -> None:
    """End every relation of a company that is about to be deleted. The caller checked permission."""
    tx.run(_FORGET_COMPANY, {"company": company_id})


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


_STANDING: Final = Hot(
    select(exists().where(*_PAIR), _delegates(bindparam("from_company"), bindparam("to_company"))),
    "from_company",
    "to_company",
)


def _of_company(reaches: scopes.Reaches, delegated: bool) -> Select[Any]:
    """The relations of one kind that a company within the reaches has; columns in the order of `_FIELDS`."""
    delegates = _delegates(company_relation.c.from_company_id, company_relation.c.to_company_id)
    return (
        select(
            company_relation.c.id,
            company_relation.c.created_ms,
            company.c.id,
            company.c.name,
            _RECEIVER.c.id,
            _RECEIVER.c.name,
            company.c.service_type,
        )
        .join_from(company_relation, company, company.c.id == company_relation.c.from_company_id)
        .join(_RECEIVER, _RECEIVER.c.id == company_relation.c.to_company_id)
        .where(company_relation.c.from_company_id == bindparam("company"), scopes.companies(reaches))
        .where(delegates if delegated else ~delegates)
    )


_OF_COMPANY: Final = lists.Listing(
    _RECEIVER.c.name, company_relation.c.id, _of_company, ("company", scopes.USER, scopes.COMPANY), lists.sorting
)
