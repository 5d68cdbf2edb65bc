"""Rows of companies."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, delete, exists, select, update

from tripline.domain import companies
from tripline.domain.access import Scope
from tripline.domain.companies import Company, Details
from tripline.domain.ids import CompanyId
from tripline.store import lists, reach, scopes
from tripline.store.bulk import Bulk
from tripline.store.database import uniqueness
from tripline.store.listing import companies as listing
from tripline.store.scores import standings
from tripline.store.tables import (
    company,
    policy_choice,
    push_outbox,
    push_receiver,
    push_resend,
    push_secret,
    rescoring,
    sensor,
    vehicle,
)
from tripline.store.transactions import Hot, ReadTx, WriteTx

_FIELDS: Final = list(Company.__struct_fields__)
_COLUMNS: Final = [company.c[name] for name in _FIELDS]


inside: Final = scopes.Inside(company.c.id, scopes.companies)


def find(tx: ReadTx, scope: Scope, company_id: CompanyId) -> tuple[Company, bool] | None:
    """The company and whether it is inside the scope, or None when there is none with this id."""
    return scopes.found(tx.hot(_find(scope.reaches), company_id, scope.user_id, scope.company_id), _company)


def listed(tx: ReadTx, scope: Scope, service_type: str | None, window: lists.Window) -> Sequence[Company]:
    """The companies inside the scope, of one service type or of all, by name. Raises `UnknownOffset`."""
    return [_company(row) for row in lists.page(tx, _LIST, scope, {"service_type": service_type}, window)]


def owns_anything(tx: ReadTx, company_id: CompanyId) -> bool:
    """True if the company still owns a vehicle or sensor. The caller checked permission to delete it."""
    vehicles = exists().where(vehicle.c.company_id == company_id)
    sensors = exists().where(sensor.c.company_id == company_id)
    return bool(tx.all(select(vehicles | sensors))[0][0])


def has_partners(tx: ReadTx, company_id: CompanyId) -> bool:
    """True if the company is the operator of another one."""
    partners = exists().where(company.c.master_id == company_id, company.c.id != company_id)
    return bool(tx.all(select(partners))[0][0])


def has_prefix(tx: ReadTx, prefix: str) -> bool:
    """True if a company has this token prefix. Prefixes belong to no customer, so it takes no scope."""
    return bool(tx.hot(_WITH_PREFIX, prefix))


def insert_new(tx: WriteTx, new: Company) -> None:
    """Keep a new company. Raises `companies.ServiceTypeTaken` for the second operator of a service type."""
    taken = companies.ServiceTypeTaken(field="serviceType", service_type=new.service_type)
    with uniqueness.refusing(((company.c.service_type,), taken)):
        row = _row(new)
        _ADD.insert(tx, [row[name] for name in _FIELDS])


def change(tx: WriteTx, company_id: CompanyId, details: Details) -> None:
    """Store the company's changed details; the caller checked permission."""
    tx.run(update(company).where(company.c.id == company_id).values(_row(details)))


def remove(tx: WriteTx, company_id: CompanyId) -> None:
    """Delete a company with the messages that wait for it and their secret; the caller checked permission.

    Those it registered stay.

    Nothing else may name it any more: its people, delegations and relations were deleted before.
    """
    # Waiting and parked messages have an index each.
    message = push_outbox.c
    for state in (
        message.parked_ms.is_(None),
        message.parked_ms.is_not(None) & message.unconfirmed_ms.is_(None),
        message.unconfirmed_ms.is_not(None),
    ):
        tx.run(delete(push_outbox).where(message.company_id == company_id, state))
    for table in (push_secret, push_receiver, push_resend, rescoring):
        tx.run(delete(table).where(table.c.company_id == company_id))
    tx.run(delete(policy_choice).where(policy_choice.c.kind == "company", policy_choice.c.subject == company_id))
    tx.run(update(company).where(company.c.registered_by_id == company_id).values(registered_by_id=None))
    standings.note_subject(tx, company_id)
    tx.run(delete(company).where(company.c.id == company_id))
    reach.forget_principal(tx, company_id)


@cache
def _find(reaches: scopes.Reaches) -> Hot:
    statement = select(*_COLUMNS, scopes.companies(reaches)).where(company.c.id == bindparam("id"))
    return Hot(statement, "id", scopes.USER, scopes.COMPANY)


_ADD: Final = Bulk(company, *_FIELDS)
_WITH_PREFIX: Final = Hot(select(company.c.id).where(company.c.token_prefix == bindparam("prefix")), "prefix")
_LIST: Final = lists.by_name(listing.SPEC, company, _COLUMNS)


def _row(details: Details) -> dict[str, Any]:
    """The values of a company's columns, or only of those in its details."""
    row = msgspec.structs.asdict(details)
    if details.notify_msg_type is not None:
        row["notify_msg_type"] = msgspec.json.encode(details.notify_msg_type).decode()
    return row


def _company(row: Sequence[Any]) -> Company:
    """The company of a row that begins with `_COLUMNS`."""
    values = dict(zip(_FIELDS, row, strict=False))
    values["master"] = bool(values["master"])
    if values["notify_msg_type"] is not None:
        values["notify_msg_type"] = msgspec.json.decode(values["notify_msg_type"])
    return Company(**values)
