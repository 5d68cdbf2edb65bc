"""Accounts for log-in and tokens: find one by id or e-mail address, create one; and the
details that every page of the portal displays to its visitor.

These queries precede authentication, so they take no scope: each reads one key, and only its owner sees the result.
Records of people, under a scope: `store/fleet/people.py`.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Text, bindparam, exists, select, update

from tripline.domain import fields
from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.people import EmailTaken
from tripline.store import records, scopes
from tripline.store.bulk import Bulk
from tripline.store.database import uniqueness
from tripline.store.tables import account, account_session, company
from tripline.store.transactions import Hot, ReadTx, WriteTx

_ENABLED: Final = select(account.c.authority, account.c.company_id).where(
    account.c.id == bindparam("id"), account.c.enabled
)
_ACTOR: Final = Hot(_ENABLED, "id")
IN_SESSION: Final = Hot(
    _ENABLED.join(account_session, account_session.c.user_id == account.c.id).where(
        account_session.c.id == bindparam("session")
    ),
    "id",
    "session",
)
"""Finds the enabled account with this id, while its session lasts, for `actor_of`."""

AS_KNOWN: Final = (scopes.USER, scopes.COMPANY, "scope_authority", "scope_session")
"""Names of the values of `unchanged`: the cached state of an account, in the order of `as_known`."""

_REGISTERED: Final = (
    *("id", "created_ms", "company_id", "authority", "name", "email", "phone", "division"),
    *("password_hash", "password_updated_ms", "enabled"),
)
_ADD: Final = Bulk(account, "login", *_REGISTERED)

_LONGEST: Final = 512
"""Characters that are worth comparing: no account's address has more than 255, however it is written."""


class Known(msgspec.Struct, frozen=True):
    """An account as it was at an earlier request, and the session in which it asks now."""

    actor: Actor
    session_id: str


class Credentials(msgspec.Struct, frozen=True):
    """The stored credentials for a log-in."""

    user_id: UserId
    email: str
    name: str
    authority: Authority
    password_hash: str
    enabled: bool


_credential_of: Final = records.maker(Credentials)
inside: Final = scopes.Inside(account.c.id, scopes.accounts)


def login_form(email: str) -> str:
    """Normalise an e-mail address for comparison.

    Strips blanks and applies `fields.compared`. Text longer than any address is cut.
    """
    return fields.compared(email.strip()[:_LONGEST])


def actor(tx: ReadTx, user_id: UserId) -> Actor | None:
    """The enabled account with this id."""
    return actor_of(user_id, tx.hot(_ACTOR, user_id))


def actor_of(user_id: UserId, rows: Sequence[tuple[Any, ...]]) -> Actor | None:
    """The actor from the query's row, if any."""
    if not rows:
        return None
    authority, company_id = rows[0]
    return Actor(user_id, Authority(authority), None if company_id is None else CompanyId(company_id))


def as_known(known: Known) -> tuple[str | None, ...]:
    """The values of `unchanged`."""
    actor = known.actor
    return actor.user_id, actor.company_id, actor.authority.value, known.session_id


def unchanged() -> ColumnElement[bool]:
    """Condition for statements on behalf of an account: it is enabled, unchanged since cached, and its session still
    exists."""
    user_id, company_id, authority, session_id = (bindparam(name, type_=Text) for name in AS_KNOWN)
    return exists().where(
        account.c.id == user_id,
        account.c.enabled,
        account.c.authority == authority,
        account.c.company_id.is_not_distinct_from(company_id),
        account_session.c.id == session_id,
        account_session.c.user_id == account.c.id,
    )


def credentials(tx: ReadTx, email: str) -> Credentials | None:
    """The account that logs in with this e-mail address."""
    return _credentials(tx.hot(_BY_LOGIN, login_form(email)))


def credentials_of(tx: ReadTx, user_id: UserId) -> Credentials | None:
    """The account with this id, enabled or not."""
    return _credentials(tx.hot(_BY_ID, user_id))


def add(tx: WriteTx, row: dict[str, Any], *, taken: EmailTaken) -> None:
    """Keep a new account; `row` has the columns of `_REGISTERED`.

    Raises `taken` when another account logs in with its e-mail address.
    """
    with uniqueness.refusing(((account.c.login,), taken)):
        _ADD.insert(tx, [login_form(row["email"]), *(row[name] for name in _REGISTERED)])


def set_password(tx: WriteTx, user_id: UserId, *, password_hash: str, now_ms: int) -> None:
    """Keep the account's new password."""
    change(tx, user_id, password_hash=password_hash, password_updated_ms=now_ms)


def change(tx: WriteTx, user_id: UserId, **columns: Any) -> None:
    """Write these columns of an account; the caller checked permission."""
    tx.run(_CHANGE, {"key": user_id, **columns})


def _credentials(rows: Sequence[tuple[Any, ...]]) -> Credentials | None:
    return _credential_of(rows[0]) if rows else None


_CREDENTIALS: Final = select(
    *(account.c["id" if name == "user_id" else name] for name in Credentials.__struct_fields__)
)
_BY_LOGIN: Final = Hot(_CREDENTIALS.where(account.c.login == bindparam("login")), "login")
_BY_ID: Final = Hot(_CREDENTIALS.where(account.c.id == bindparam("id")), "id")
_CHANGE: Final = update(account).where(account.c.id == bindparam("key"))


OWN_COLUMNS: Final = (
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
_OF_ACCOUNT: Final = Hot(select(*OWN_COLUMNS).select_from(WITH_COMPANY).where(account.c.id == bindparam("id")), "id")


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


def own_account(tx: ReadTx, user_id: UserId) -> Account | None:
    """The account with this id, enabled or not."""
    rows = tx.hot(_OF_ACCOUNT, user_id)
    return own_account_of(rows[0]) if rows else None


def own_account_of(row: tuple[Any, ...]) -> Account:
    """The account of a row of `COLUMNS`."""
    name, email, company_id, company_name, service_type, is_operator, language, theme = row
    own = None
    if company_id is not None:
        own = Company(CompanyId(company_id), company_name, service_type, bool(is_operator))
    return Account(name, email, own, language, theme)
