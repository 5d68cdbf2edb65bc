"""Vehicles and sensors by number, typed in any form: by its key (`domain/keys.py`)."""

from typing import Final

from sqlalchemy import Column, ColumnElement, and_, select

from tripline.domain import keys
from tripline.domain.access import Scope
from tripline.store.tables import company, sensor, vehicle
from tripline.store.transactions import ReadTx

_KEYS: Final = {vehicle.c.vehicle_no: vehicle.c.number_key, sensor.c.serial_no: sensor.c.serial_key}


def same(number: Column[str], service_type: str, text: str) -> ColumnElement[bool]:
    """The condition that this column has the number, in any form, in the service type."""
    key = _KEYS[number]
    return and_(key.table.c.service_type == service_type, key == keys.key(text))


def stored(tx: ReadTx, number: Column[str], service_type: str, text: str) -> str | None:
    """The stored number with the key of this text; None: there is none, or it is the text."""
    row = tx.one(select(number).where(same(number, service_type, text)))
    return None if row is None or row[0] == text else row[0]


def other_form(tx: ReadTx, number: Column[str], scope: Scope, search: str | None) -> str | None:
    """Return the stored form of a number that somebody searches; None when no other form is stored."""
    if not search or scope.company_id is None:
        return None
    row = tx.one(select(company.c.service_type).where(company.c.id == scope.company_id))
    return None if row is None else stored(tx, number, row.service_type, search)
