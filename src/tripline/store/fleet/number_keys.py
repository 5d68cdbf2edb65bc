"""Vehicles and sensors by number, typed in any form: by the exact text, else by its key (`domain/keys.py`).

Not here: searches by a part of a number (`store/browsing/`).
"""

from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import Column, ColumnElement, bindparam, func, select

from tripline.domain import keys
from tripline.store.tables import sensor, vehicle
from tripline.store.transactions import Hot, ReadTx

NAMES: Final = ("number_type", "number_text", "number_key")
"""Values of `same`: the service type, the number and its key."""
_KEYS: Final = {vehicle.c.vehicle_no: "number_key", sensor.c.serial_no: "serial_key"}


def same(number: Column[str]) -> ColumnElement[str]:
    """The id of the record with the number in this column: two look-ups by unique indexes, the second one if needed."""
    row = number.table.alias("same")
    of_type = select(row.c.id).where(row.c.service_type == bindparam("number_type"))
    exactly = of_type.where(row.c[number.name] == bindparam("number_text")).scalar_subquery()
    alike = of_type.where(row.c[_KEYS[number]] == bindparam("number_key")).scalar_subquery()
    return func.coalesce(exactly, alike)


def stored(tx: ReadTx, number: Column[str], service_type: str, text: str) -> str | None:
    """The stored number with the key of this text; None: there is none, or it is the text."""
    rows = tx.hot(_stored(number), service_type, text, keys.key(text))
    return rows[0][0] if rows and rows[0][0] != text else None


class Keyless(NamedTuple):
    """A record without a key, because an older record of its service type has it."""

    kind: str
    """`vehicle` or `sensor`."""
    id: str
    number: str


def keyless(tx: ReadTx, *, limit: int) -> list[Keyless]:
    """Vehicles and sensors without a key, up to `limit` of each."""
    found: list[Keyless] = []
    for number, key in _KEYS.items():
        row: Any = number.table.c
        some: Any = tx.all(select(row.id, row[number.name]).where(row[key].is_(None)).order_by(row.id).limit(limit))
        found += [Keyless(str(number.table), each[0], each[1]) for each in some]
    return found


@cache
def _stored(number: Column[str]) -> Hot:
    row: Any = number.table.c
    return Hot(select(number).where(row.id == same(number)), *NAMES)
