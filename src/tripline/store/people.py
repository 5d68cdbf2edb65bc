"""Records of people: administrators, directors, drivers; and how an account joins the company it registers.

Not here: log-in, tokens and new accounts (`accounts.py`).
"""

from dataclasses import fields
from functools import cache
from typing import Any, Final

from sqlalchemy import Row, Select, bindparam, select, update

from tripline.domain.access import Authority, Scope
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.people import DRIVING_ROLES, User
from tripline.store import scopes
from tripline.store.tables import account
from tripline.store.transactions import ReadTx, WriteTx

_COLUMNS: Final = [account.c[field.name] for field in fields(User)]


def find(tx: ReadTx, scope: Scope, user_id: UserId) -> tuple[User, bool] | None:
    """The account and whether it is inside the scope, or None when there is none with this id."""
    return _only(tx, _find(scope.reaches), scope, user_id)


def find_driver(tx: ReadTx, scope: Scope, user_id: UserId) -> tuple[User, bool] | None:
    """As `find`, among those who may drive."""
    return _only(tx, _find_driver(scope.reaches), scope, user_id)


def own(tx: ReadTx, user_id: UserId) -> User | None:
    """The account that asks for itself."""
    row = tx.one(select(*_COLUMNS).where(account.c.id == bindparam("id")), {"id": user_id})
    return None if row is None else _user(row)


def join_company(tx: WriteTx, user_id: UserId, company_id: CompanyId) -> bool:
    """Make the account, which is the actor's own, one of the company; False when it belongs to a company already."""
    without = update(account).where(account.c.id == user_id, account.c.company_id.is_(None))
    return tx.run(without.values(company_id=company_id)) == 1


def introduce(
    tx: WriteTx,
    user_id: UserId,
    *,
    name: str,
    phone: str | None,
    division: str | None,
    password_hash: str,
    now_ms: int,
) -> None:
    """Write what a registration says about the actor into its own account."""
    tx.run(
        update(account)
        .where(account.c.id == user_id)
        .values(name=name, phone=phone, division=division, password_hash=password_hash, password_updated_ms=now_ms)
    )


@cache
def _find(reaches: scopes.Reaches) -> Select[Any]:
    inside = scopes.accounts(reaches).label("inside")
    return select(*_COLUMNS, inside).where(account.c.id == bindparam("id"))


@cache
def _find_driver(reaches: scopes.Reaches) -> Select[Any]:
    return _find(reaches).where(account.c.authority.in_(DRIVING_ROLES))


def _only(tx: ReadTx, statement: Select[Any], scope: Scope, user_id: UserId) -> tuple[User, bool] | None:
    row = tx.one(statement, {"id": user_id, **scopes.values(scope)})
    return None if row is None else (_user(row), bool(row.inside))


def _user(row: Row[Any]) -> User:
    values = {column.name: row._mapping[column.name] for column in _COLUMNS}
    return User(**{**values, "authority": Authority(row.authority)})
