"""Sensors by a number of their line, and people by name, e-mail address or telephone number: what begins so.

Not here: vehicles by number (`vehicles.py`) and sensors by serial number (`sensors.py`), which their lists find.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import Column, bindparam, func, literal, or_, select

from tripline.domain import fields
from tripline.domain.access import Authority, Scope
from tripline.domain.ids import SensorId, UserId
from tripline.store import prefixes, reached, scopes
from tripline.store.tables import account, carrier_line, company, sensor, vehicle
from tripline.store.tables.base import lowered
from tripline.store.transactions import Hot, ReadTx

ROLES: Final = (Authority.DIRECTOR, Authority.DRIVER)
"""Whom a search finds."""


class FoundLine(msgspec.Struct, frozen=True, kw_only=True):
    """A sensor with its line."""

    sensor_id: SensorId
    serial_no: str
    mdn: str | None
    iccid: str | None
    imsi: str | None
    vehicle_no: str | None


class FoundPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A director or driver."""

    id: UserId
    name: str
    email: str
    phone: str | None
    role: Authority
    company_name: str


def lines(tx: ReadTx, scope: Scope, beginning: str, *, limit: int) -> list[FoundLine]:
    """Sensors inside the scope whose line's telephone number, ICCID or IMSI begins so."""
    found: dict[str, FoundLine] = {}
    for name in ("mdn", "iccid", "imsi"):
        for row in tx.hot_in([_range(beginning)], _lines(scope.reaches, name), *_of(scope), limit):
            found[row[0]] = FoundLine(**dict(zip(_LINE, row, strict=True)))
    return list(found.values())[:limit]


def people(tx: ReadTx, scope: Scope, text: str, *, limit: int) -> list[FoundPerson]:
    """Directors and drivers of companies inside the scope whose name, e-mail address or telephone number begins so."""
    found: dict[str, FoundPerson] = {}
    for ranges, statement, *values in _asked_of_people(scope, text):
        for row in tx.hot_in(ranges, statement, *_of(scope), *values, limit):
            person = dict(zip(_PERSON, row, strict=True))
            found[row[0]] = FoundPerson(**{**person, "role": Authority(person["role"])})
        if len(found) >= limit:
            break
    return list(found.values())[:limit]


def _of(scope: Scope) -> tuple[str | None, str | None]:
    return scope.user_id, scope.company_id


def _asked_of_people(scope: Scope, text: str) -> Iterator[tuple[Any, ...]]:
    """Ranges, and statements with their values for them, the likeliest first."""
    for role in ROLES:
        yield prefixes.ranges(text), _by_name(scope.reaches), role.value, text
    yield [_range(fields.compared(text))], _by_column(scope.reaches, "login")
    numbers = [_range(number) for number in phone_forms(text)]
    if numbers:
        yield numbers, _by_column(scope.reaches, "phone")


def _range(beginning: str) -> tuple[str, str]:
    return beginning, beginning + prefixes.LAST


def phone_forms(text: str) -> list[str]:
    """How a telephone number that begins so may be written: as typed, in one, and in its usual groups."""
    digits = "".join(character for character in text if character.isdigit())
    if len(digits) < _PHONE_LEAST or any(not (each.isdigit() or each in "+-() .") for each in text):
        return []
    grouped = [_grouped(digits, lengths) for lengths in GROUPS]
    return sorted({text, digits, *grouped})


def _grouped(digits: str, lengths: tuple[int, ...]) -> str:
    groups, at = [], 0
    for length in lengths:
        groups.append(digits[at : at + length])
        at += length
    return "-".join(group for group in (*groups, digits[at:]) if group)


_PHONE_LEAST: Final = 3
"""Digits from which a telephone number is looked for."""
GROUPS: Final = ((3, 4), (3, 3), (2, 4), (2, 3))
"""Lengths of the groups before the last one: 010-1234-5678, 031-123-4567, 02-1234-5678, 02-123-4567."""
_LINE: Final = FoundLine.__struct_fields__
_PERSON: Final = FoundPerson.__struct_fields__
_WHO: Final = (scopes.USER, scopes.COMPANY)
_BOUNDS: Final = ("most", "range_from", "range_to")


@cache
def _lines(reaches: scopes.Reaches, name: str) -> Hot:
    number: Column[str] = carrier_line.c[name]
    statement = (
        select(
            *(sensor.c.id, sensor.c.serial_no),
            *(carrier_line.c.mdn, carrier_line.c.iccid, carrier_line.c.imsi, vehicle.c.vehicle_no),
        )
        .select_from(
            carrier_line.join(sensor, sensor.c.id == carrier_line.c.sensor_id).outerjoin(
                vehicle, vehicle.c.id == sensor.c.vehicle_id
            )
        )
        .where(number >= bindparam("range_from"), number < bindparam("range_to"), scopes.sensors(reaches))
        .order_by(number)
        .limit(bindparam("most"))
    )
    return Hot(statement, *_WHO, *_BOUNDS)


@cache
def _by_name(reaches: scopes.Reaches) -> Hot:
    name = account.c.name
    beginning = lowered(bindparam("text", type_=name.type))
    statement = _people(reaches, name).where(
        account.c.authority == bindparam("of_role"),
        func.substr(lowered(name), 1, func.length(beginning)) == beginning,
    )
    return Hot(statement, *_WHO, "of_role", "text", *_BOUNDS)


@cache
def _by_column(reaches: scopes.Reaches, name: str) -> Hot:
    # Spelled out: a hot statement knows no lists.
    roles = or_(*(reached.beside_index(account.c.authority) == literal(role.value) for role in ROLES))
    return Hot(_people(reaches, account.c[name]).where(roles), *_WHO, *_BOUNDS)


def _people(reaches: scopes.Reaches, column: Column[str]) -> Any:
    """The people of companies inside as a whole, company by company, of whom the column is in the range."""
    whole = reached.whole(reaches, of_one=False)
    assert whole is not None
    return (
        select(account.c.id, account.c.name, account.c.email, account.c.phone, account.c.authority, company.c.name)
        .select_from(account.join(company, company.c.id == account.c.company_id))
        .where(
            account.c.company_id.in_(whole),
            column >= bindparam("range_from"),
            column < bindparam("range_to"),
            scopes.accounts(reaches),
        )
        .limit(bindparam("most"))
    )
