"""Every account of the installation, by its e-mail address and with its enabled state.

For platform administrators (`domain/access.py`) and owners of the data folder, so it takes no scope.

Not here: the list of the portal (`store/listing/accounts.py`), people of a company, under a scope
(`store/fleet/people.py`).
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Select, select, update

from tripline.domain.access import Authority
from tripline.domain.ids import CompanyId, UserId
from tripline.store import records
from tripline.store.accounts.accounts import login_form
from tripline.store.tables import account, company
from tripline.store.transactions import ReadTx, WriteTx

_LAST_CHARACTER: Final = "\U0010ffff"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An account as the installation's administrators see it."""

    id: UserId
    created_ms: int
    name: str
    email: str
    login: str
    """Sort key of the list."""
    authority: Authority
    enabled: bool
    company_id: CompanyId | None
    company_name: str | None


_ENTRIES: Final = select(
    *(company.c.name if name == "company_name" else account.c[name] for name in Entry.__struct_fields__)
).outerjoin_from(account, company, company.c.id == account.c.company_id)
_entry: Final = records.maker(Entry)


class Which(msgspec.Struct, frozen=True, kw_only=True):
    """Which accounts: whose address begins so, of one role, in use or not; None asks for all."""

    beginning: str | None = None
    authority: Authority | None = None
    enabled: bool | None = None


def page(tx: ReadTx, which: Which, *, after: str | None, limit: int) -> Sequence[Entry]:
    """So many accounts by address, behind the login `after`."""
    statement = _chosen(_ENTRIES, which)
    if after is not None:
        statement = statement.where(account.c.login > after)
    return [_entry(row) for row in tx.all(statement.order_by(account.c.login).limit(limit))]


def find(tx: ReadTx, user_id: UserId) -> Entry | None:
    """The account with this id."""
    row = tx.one(_ENTRIES.where(account.c.id == user_id))
    return None if row is None else _entry(row)


def find_by_email(tx: ReadTx, email: str) -> Entry | None:
    """The account that logs in with this address."""
    row = tx.one(_ENTRIES.where(account.c.login == login_form(email)))
    return None if row is None else _entry(row)


def any_made(tx: ReadTx) -> bool:
    """True if the installation has any account."""
    return bool(tx.all(select(account.c.id).limit(1)))


def enable(tx: WriteTx, user_id: UserId, *, enabled: bool) -> None:
    """Let the account be used, or not."""
    tx.run(update(account).where(account.c.id == user_id).values(enabled=enabled))


def _chosen(statement: Select[Any], which: Which) -> Select[Any]:
    if which.beginning:
        first = login_form(which.beginning)
        statement = statement.where(account.c.login >= first, account.c.login < first + _LAST_CHARACTER)
    if which.authority is not None:
        statement = statement.where(account.c.authority == which.authority.value)
    if which.enabled is not None:
        statement = statement.where(account.c.enabled.is_(which.enabled))
    return statement
