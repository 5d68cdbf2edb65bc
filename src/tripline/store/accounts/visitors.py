"""Visitors of the portal: the account details that every page displays to their owner.

Read by the requesting account's id and displayed only to it, so it takes no scope.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, select, update

from tripline.domain.ids import CompanyId, UserId
from tripline.store.tables import account, company
from tripline.store.transactions import Hot, ReadTx, WriteTx

COLUMNS: Final = (
    account.c.name,
    account.c.email,
    company.c.id,
    company.c.name,
    company.c.service_type,
    company.c.master,
    account.c.language,
    account.c.theme,
)
"""Columns for `of_row`."""
WITH_COMPANY: Final = account.outerjoin(company, company.c.id == account.c.company_id)
_OF_ACCOUNT: Final = Hot(select(*COLUMNS).select_from(WITH_COMPANY).where(account.c.id == bindparam("id")), "id")


class Company(msgspec.Struct, frozen=True):
    """The company of a visitor."""

    id: CompanyId
    name: str
    service_type: str
    is_operator: bool


class Account(msgspec.Struct, frozen=True):
    """An account as its own pages name it."""

    name: str
    email: str
    company: Company | None
    language: str | None
    """The preferred language; None: the browser's."""
    theme: str | None
    """None: as the visitor's system."""


def of(tx: ReadTx, user_id: UserId) -> Account | None:
    """The account with this id, enabled or not."""
    rows = tx.hot(_OF_ACCOUNT, user_id)
    return of_row(rows[0]) if rows else None


def of_row(row: tuple[Any, ...]) -> Account:
    """The account of a row of `COLUMNS`."""
    name, email, company_id, company_name, service_type, is_operator, language, theme = row
    own = None
    if company_id is not None:
        own = Company(CompanyId(company_id), company_name, service_type, bool(is_operator))
    return Account(name, email, own, language, theme)


def prefer(tx: WriteTx, user_id: UserId, values: Mapping[str, str | None]) -> None:
    """Store the account's preferences: `language`, `theme`."""
    tx.run(update(account).where(account.c.id == user_id).values(**values))
