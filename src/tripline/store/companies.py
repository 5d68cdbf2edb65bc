"""Rows of companies."""

from dataclasses import asdict, fields
from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import Row, Select, bindparam, insert, select

from tripline.domain import companies
from tripline.domain.access import Scope
from tripline.domain.companies import Company
from tripline.domain.ids import CompanyId
from tripline.store import scopes, uniqueness
from tripline.store.tables import company
from tripline.store.transactions import Hot, ReadTx, WriteTx

_COLUMNS: Final = [company.c[field.name] for field in fields(Company)]


def find(tx: ReadTx, scope: Scope, company_id: CompanyId) -> tuple[Company, bool] | None:
    """The company and whether it is inside the scope, or None when there is none with this id."""
    row = tx.one(_find(scope.reaches), {"id": company_id, **scopes.values(scope)})
    return None if row is None else (_company(row), bool(row.inside))


def inside(tx: ReadTx, scope: Scope, company_id: CompanyId) -> bool | None:
    """Whether the company is inside the scope, or None when there is none with this id."""
    rows = tx.hot(_inside(scope.reaches), company_id, scope.user_id, scope.company_id)
    return bool(rows[0][0]) if rows else None


def has_prefix(tx: ReadTx, prefix: str) -> bool:
    """Whether a company has this token prefix. Prefixes are no customer's data, so there is no scope."""
    return tx.one(select(company.c.id).where(company.c.token_prefix == prefix)) is not None


def insert_new(tx: WriteTx, new: Company) -> None:
    """Keep a new company. Raises `companies.ServiceTypeTaken` for the second operator of a service type."""
    row = asdict(new)
    if new.notify_msg_type is not None:
        row["notify_msg_type"] = msgspec.json.encode(new.notify_msg_type).decode()
    taken = companies.service_type_taken(new.service_type)
    with uniqueness.refusing(((company.c.service_type,), taken)):
        tx.run(insert(company), row)


@cache
def _find(reaches: scopes.Reaches) -> Select[Any]:
    inside = scopes.companies(reaches).label("inside")
    return select(*_COLUMNS, inside).where(company.c.id == bindparam("id"))


@cache
def _inside(reaches: scopes.Reaches) -> Hot:
    statement = select(scopes.companies(reaches)).where(company.c.id == bindparam("id"))
    return Hot(statement, "id", scopes.USER, scopes.COMPANY)


def _company(row: Row[Any]) -> Company:
    values = dict(row._mapping)
    del values["inside"]
    if row.notify_msg_type is not None:
        values["notify_msg_type"] = msgspec.json.decode(row.notify_msg_type)
    return Company(**values)
