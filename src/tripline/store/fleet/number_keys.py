"""Vehicles and sensors by number, typed in any form: by its key (`domain/keys.py`)."""

from functools import cache
from typing import Final

from sqlalchemy import Column, ColumnElement, and_, bindparam, select

from tripline.domain import keys
from tripline.domain.access import Scope
from tripline.store.tables import company, sensor, vehicle
from tripline.store.transactions import Hot, ReadTx

_SERVICE_TYPE: Final = Hot(select(company.c.service_type).where(company.c.id == bindparam("company")), "company")
_KEYS: Final = {vehicle.c.vehicle_no: vehicle.c.number_key, sensor.c.serial_no: sensor.c.serial_key}
NAMES: Final = ("service_type", "number_key")
"""The values of `same`, as `values` returns them."""


def same(number: Column[str]) -> ColumnElement[bool]:
    """The condition that this column has the number, in any form, in the service type."""
    key = _KEYS[number]
    return and_(key.table.c.service_type == bindparam("service_type"), key == bindparam("number_key"))


def values(service_type: str, text: str) -> tuple[str, str]:
    """The values of `same` for a number."""
    return service_type, keys.key(text)


def stored(tx: ReadTx, number: Column[str], service_type: str, text: str) -> str | None:
    """The stored number with the key of this text; None: there is none, or it is the text."""
    rows = tx.hot(_stored(number), *values(service_type, text))
    return None if not rows or rows[0][0] == text else rows[0][0]


@cache
def _stored(number: Column[str]) -> Hot:
    return Hot(select(number).where(same(number)), *NAMES)


def other_form(tx: ReadTx, number: Column[str], scope: Scope, search: str | None) -> str | None:
    """Return the stored form of a number that somebody searches; None when no other form is stored."""
    if not search or scope.company_id is None:
        return None
    rows = tx.hot(_SERVICE_TYPE, scope.company_id)
    return stored(tx, number, rows[0][0], search) if rows else None
