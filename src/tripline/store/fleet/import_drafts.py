"""Import drafts.

A draft is inside its owner's scope; background work has the scope of everything.
"""

from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, exists, func, insert, select, true, update

from tripline.domain.access import Reach, Scope
from tripline.domain.ids import CompanyId
from tripline.domain.import_drafts import WORKED_ON, Draft, DraftId, State
from tripline.store import records, scopes
from tripline.store.database import nodes
from tripline.store.tables import company, import_draft, import_row, node
from tripline.store.transactions import ReadTx, WriteTx

_DRAFT: Final = import_draft.c
_ROW: Final = import_row.c
_FIXED: Final = frozenset({"id", "account_id", "company_id", "kind", "name", "created_ms", "header"})
_JSON: Final = ("header", "columns")


class Numbers(msgspec.Struct, frozen=True):
    """Numbers of drafts in the store, with expired ones that are not yet deleted."""

    of_account: int
    of_company: int
    of_operator: int
    """Of the company's operator with its partners."""


def insert_new(tx: WriteTx, new: Draft) -> None:
    """Keep a new draft."""
    tx.run(insert(import_draft), _values(new))


def find(tx: ReadTx, scope: Scope, draft_id: DraftId, *, now_ms: int) -> tuple[Draft, bool] | None:
    """The draft and whether it is inside the scope; None when there is none with this id, or no more."""
    values = {"of_id": draft_id, "now": now_ms, **scopes.values(scope)}
    return scopes.found(tx.all(_find(scope.reaches), values), _draft)


def state_of(tx: ReadTx, draft_id: DraftId) -> State | None:
    """The state of a draft of any owner; None if it does not exist."""
    row = tx.one(select(_DRAFT.state).where(_DRAFT.id == draft_id))
    return None if row is None else State(row.state)


def listed(tx: ReadTx, scope: Scope, *, now_ms: int) -> list[Draft]:
    """The drafts inside the scope, the newest first."""
    found = select(import_draft).where(_inside(scope.reaches), _DRAFT.expires_ms > now_ms)
    return [_draft(row) for row in tx.all(found.order_by(_DRAFT.created_ms.desc()), scopes.values(scope))]


def numbers(tx: ReadTx, draft: Draft) -> Numbers:
    """How many drafts the account, the company and the operator of this one have in the store."""
    operator = select(company.c.master_id).where(company.c.id == draft.company_id).scalar_subquery()
    row = tx.one(
        select(
            func.count().filter(_DRAFT.account_id == draft.account_id).label("of_account"),
            func.count().filter(_DRAFT.company_id == draft.company_id).label("of_company"),
            func.count().label("of_operator"),
        ).where(_DRAFT.company_id.in_(select(company.c.id).where(company.c.master_id == operator)))
    )
    assert row is not None
    return Numbers(row.of_account, row.of_company, row.of_operator)


def change(tx: WriteTx, changed: Draft) -> None:
    """Store the changes of a draft that was read in this transaction."""
    values = {name: value for name, value in _values(changed).items() if name not in _FIXED}
    tx.run(_CHANGE, {"key": changed.id, **values})


def waiting(tx: ReadTx, *, node_id: str, now_ms: int) -> list[tuple[Draft, CompanyId]]:
    """Drafts that wait for work, the oldest first, each with its operator: of no process, of this one, or of one that
    is gone. An embedded database has no other process.
    """
    waiting = _WAITING
    if tx.shared:
        others = exists().where(node.c.id == _DRAFT.holder, node.c.id != node_id, node.c.roles != nodes.NO_ROLES)
        waiting = waiting.where(~others)
    return [(_draft(row), row.master_id) for row in tx.all(waiting, {"now": now_ms})]


def purge(tx: WriteTx, *, now_ms: int, limit: int) -> int:
    """Forget expired drafts, with so many of their rows at most; return the number of deleted drafts and rows."""
    rows = tx.all(_EXPIRED_ROWS, {"now": now_ms, "most": limit})
    for draft_id in {row.draft_id for row in rows}:
        numbers = [row.number for row in rows if row.draft_id == draft_id]
        tx.run(delete(import_row).where(_ROW.draft_id == draft_id, _ROW.number.in_(numbers)))
    return len(rows) + tx.run(_PURGE, {"now": now_ms})


def _inside(reaches: scopes.Reaches) -> ColumnElement[bool]:
    if Reach.ANY in reaches:
        return true()
    return and_(_DRAFT.account_id == bindparam(scopes.USER), _DRAFT.company_id == bindparam(scopes.COMPANY))


@cache
def _find(reaches: scopes.Reaches) -> Select[Any]:
    found = select(import_draft, _inside(reaches).label("inside"))
    return found.where(_DRAFT.id == bindparam("of_id"), _DRAFT.expires_ms > bindparam("now"))


_CHANGE: Final = update(import_draft).where(_DRAFT.id == bindparam("key"))
_WAITING: Final = (
    select(import_draft, company.c.master_id)
    .join(company, company.c.id == _DRAFT.company_id)
    .where(_DRAFT.state.in_([state.value for state in WORKED_ON]), _DRAFT.expires_ms > bindparam("now"))
    .order_by(_DRAFT.created_ms, _DRAFT.id)
)
_EXPIRED: Final = select(_DRAFT.id).where(_DRAFT.expires_ms <= bindparam("now"))
_EXPIRED_ROWS: Final = (
    select(_ROW.draft_id, _ROW.number)
    .where(_ROW.draft_id.in_(_EXPIRED))
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
_EMPTY: Final = _EXPIRED.where(~exists().where(_ROW.draft_id == _DRAFT.id)).with_for_update(skip_locked=True)
_PURGE: Final = delete(import_draft).where(_DRAFT.id.in_(_EMPTY))


def _values(draft: Draft) -> dict[str, Any]:
    values = msgspec.structs.asdict(draft)
    for name in _JSON:
        values[name] = msgspec.json.encode(values[name]).decode()
    return {**values, "state": draft.state.value, "note": None if draft.note is None else draft.note.value}


def _draft(row: Any) -> Draft:
    lists = {name: tuple(msgspec.json.decode(row._mapping[name])) for name in _JSON}
    return Draft(**(records.given(Draft, row) | lists))
