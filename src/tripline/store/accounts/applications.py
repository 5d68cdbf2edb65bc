"""Applications for a service account: sent in, listed by time, decided.

They belong to no company; only platform administrators read them (`domain/access.py`), so they take no scope.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy import select, update
from sqlalchemy.dialects import sqlite

from tripline.domain.applications import Application, State
from tripline.domain.ids import UserId
from tripline.later import Later
from tripline.store import lists, records
from tripline.store.accounts import accounts
from tripline.store.lists import Span
from tripline.store.tables import service_application
from tripline.store.transactions import ReadTx, WriteTx

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql
else:
    postgresql = Later("sqlalchemy.dialects.postgresql")

_ROW: Final = service_application.c
_STORED: Final = select(*(_ROW[name] for name in Application.__struct_fields__))
_application: Final = records.maker(Application)


def add(tx: WriteTx, new: Application) -> None:
    """Store a new application, unless one with this e-mail address is open already.

    Either way the same statements run and a row is written, so that timing reveals nothing.
    """
    login = accounts.login_form(new.email)
    tx.run(_insert_unless_open(tx), {**msgspec.structs.asdict(new), "login": login})
    still_open = (_ROW.login == login, _ROW.state == State.SUBMITTED)
    tx.run(update(service_application).where(*still_open).values(login=login))


def _insert_unless_open(tx: WriteTx) -> Any:
    dialect = postgresql if tx.shared else sqlite
    return dialect.insert(service_application).on_conflict_do_nothing()


def find(tx: ReadTx, application_id: str) -> Application | None:
    """The application with this id."""
    row = tx.one(_STORED.where(_ROW.id == application_id))
    return None if row is None else _application(row)


def listed(tx: ReadTx, *, state: State | None, span: Span) -> Sequence[Application]:
    """Applications, of one state or all, by creation. Raises `UnknownOffset`."""
    return [_application(row) for row in _of_state(state).page(tx, span)]


@cache
def _of_state(state: State | None) -> lists.ByCreation:
    of_it = [] if state is None else [_ROW.state == state]
    return lists.ByCreation(_STORED, service_application, *of_it)


def decide(
    tx: WriteTx, application_id: str, *, state: State, decided_by: UserId, reason: str | None, now_ms: int
) -> None:
    """Write the decision."""
    tx.run(
        update(service_application)
        .where(_ROW.id == application_id)
        .values(state=state, decided_ms=now_ms, decided_by_id=decided_by, reason=reason)
    )
