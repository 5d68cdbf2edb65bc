"""Accounts as log-in and tokens see them: who an id or an e-mail address is, new accounts.

These look-ups happen before there is an actor, so they take no scope: they answer about one key and are never shown to
anybody but its owner. Records of people, under a scope: `store/people.py`.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import bindparam, insert, select, update

from tripline.domain import fields
from tripline.domain.access import Actor, Authority, Scope
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.people import EmailTaken
from tripline.store import scopes, uniqueness
from tripline.store.tables import account
from tripline.store.transactions import Hot, ReadTx, WriteTx

_ACTOR = Hot(
    select(account.c.authority, account.c.company_id).where(account.c.id == bindparam("id"), account.c.enabled),
    "id",
)

_LONGEST: Final = 512
"""Characters that are worth comparing: no account's address has more than 255, however it is written."""
_OF_CREDENTIALS: Final = (
    account.c.id.label("user_id"),
    account.c.email,
    account.c.name,
    account.c.authority,
    account.c.password_hash,
    account.c.enabled,
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a log-in is compared with."""

    user_id: UserId
    email: str
    name: str
    authority: Authority
    password_hash: str
    enabled: bool


def login_form(email: str) -> str:
    """The e-mail address in the form in which two are compared.

    Without blanks around it and as `fields.compared` says. Of what is longer than any address the beginning counts.
    """
    return fields.compared(email.strip()[:_LONGEST])


def actor(tx: ReadTx, user_id: UserId) -> Actor | None:
    """The enabled account with this id."""
    rows = tx.hot(_ACTOR, user_id)
    if not rows:
        return None
    authority, company_id = rows[0]
    return Actor(user_id, Authority(authority), None if company_id is None else CompanyId(company_id))


def credentials(tx: ReadTx, email: str) -> Credentials | None:
    """The account that logs in with this e-mail address."""
    return _credentials(tx, account.c.login == login_form(email))


def credentials_of(tx: ReadTx, user_id: UserId) -> Credentials | None:
    """The account with this id, enabled or not."""
    return _credentials(tx, account.c.id == user_id)


def add(tx: WriteTx, row: dict[str, Any], *, taken: EmailTaken) -> None:
    """Keep a new account; `row` names every column that is not null, without `login`.

    Raises `taken` when another account logs in with its e-mail address.
    """
    with uniqueness.refusing(((account.c.login,), taken)):
        tx.run(insert(account).values(login=login_form(row["email"]), **row))


def set_password(tx: WriteTx, user_id: UserId, *, password_hash: str, now_ms: int) -> None:
    """Keep the account's new password."""
    changed = {"password_hash": password_hash, "password_updated_ms": now_ms}
    tx.run(update(account).where(account.c.id == user_id).values(**changed))


def _credentials(tx: ReadTx, condition: Any) -> Credentials | None:
    row = tx.one(select(*_OF_CREDENTIALS).where(condition))
    return None if row is None else Credentials(**{**row._mapping, "authority": Authority(row.authority)})


def inside(tx: ReadTx, scope: Scope, user_id: UserId) -> bool | None:
    """Whether the account is inside the scope, or None when there is none with this id."""
    rows = tx.hot(_inside(scope.reaches), user_id, scope.user_id, scope.company_id)
    return bool(rows[0][0]) if rows else None


@cache
def _inside(reaches: scopes.Reaches) -> Hot:
    statement = select(scopes.accounts(reaches)).where(account.c.id == bindparam("id"))
    return Hot(statement, "id", scopes.USER, scopes.COMPANY)
