"""Sensors by a number of their line, and people by name, e-mail address or telephone number: what begins so, and
numbers that end so.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import Column, ColumnElement, Select, and_, bindparam, false, func, literal, or_, select, true

from tripline.domain import fields
from tripline.domain.access import Authority, Reach, Scope
from tripline.domain.ids import SensorId, UserId
from tripline.store import endings, prefixes, reach, records, scopes
from tripline.store.listing.engine import beside_index
from tripline.store.tables import account, carrier_line, company, sensor, vehicle
from tripline.store.tables.base import lowered
from tripline.store.transactions import Hot, ReadTx

ROLES: Final = (Authority.DIRECTOR, Authority.DRIVER)
"""Whom a search finds."""


class LineMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A sensor with its line."""

    sensor_id: SensorId
    serial_no: str
    mdn: str | None
    iccid: str | None
    imsi: str | None
    vehicle_no: str | None


class PersonMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A director or driver."""

    id: UserId
    name: str
    email: str
    phone: str | None
    role: Authority
    company_name: str


_line: Final = records.maker(LineMatch)
_person: Final = records.maker(PersonMatch)


def lines(tx: ReadTx, scope: Scope, beginning: str, *, limit: int) -> list[LineMatch]:
    """Sensors inside the scope whose line's telephone number, ICCID or IMSI begins so, then those where it ends so."""
    found: dict[str, LineMatch] = {}
    rows = [
        row
        for name in ("mdn", "iccid", "imsi")
        for row in tx.hot_in([_range(beginning)], _lines(scope.reaches, name), *_of(scope), limit)
    ]
    if endings.of(beginning) is not None:
        for name in ("mdn", "iccid", "imsi"):
            rows += tx.hot(_ended_lines(scope.reaches, name), *_of(scope), limit, *endings.values(beginning))
    for row in rows:
        found.setdefault(row[0], _line(row))
    return list(found.values())[:limit]


def people(tx: ReadTx, scope: Scope, text: str, *, limit: int) -> list[PersonMatch]:
    """Directors and drivers of companies inside the scope whose name, e-mail address or telephone number begins so, or
    whose telephone number ends so."""
    found: dict[str, PersonMatch] = {}
    for ranges, statement, *values in _asked_of_people(scope, text):
        _take(found, tx.hot_in(ranges, statement, *_of(scope), *values, limit))
        if len(found) >= limit:
            break
    if endings.of(text) is not None and len(found) < limit:
        _take(found, tx.hot(_by_ending(scope.reaches), *_of(scope), limit, *endings.values(text)))
    return list(found.values())[:limit]


def _take(found: dict[str, PersonMatch], rows: Sequence[tuple[Any, ...]]) -> None:
    for row in rows:
        found.setdefault(row[0], _person(row))


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
"""The least number of digits in a search for telephone numbers."""
GROUPS: Final = ((3, 4), (3, 3), (2, 4), (2, 3))
"""Lengths of the groups before the last one: 010-1234-5678, 031-123-4567, 02-1234-5678, 02-123-4567."""
_WHO: Final = (scopes.USER, scopes.COMPANY)
_BOUNDS: Final = ("most", "range_from", "range_to")


@cache
def _lines(reaches: scopes.Reaches, name: str) -> Hot:
    number: Column[str] = carrier_line.c[name]
    within = number >= bindparam("range_from"), number < bindparam("range_to")
    return Hot(_select_lines(reaches, number, *within), *_WHO, *_BOUNDS)


@cache
def _ended_lines(reaches: scopes.Reaches, name: str) -> Hot:
    number: Column[str] = carrier_line.c[name]
    within = endings.found(number), endings.ends(number)
    return Hot(_select_lines(reaches, number, *within), *_WHO, "most", *endings.NAMES)


def _select_lines(reaches: scopes.Reaches, number: Column[str], *within: ColumnElement[bool]) -> Any:
    return (
        select(
            *(sensor.c.id, sensor.c.serial_no),
            *(carrier_line.c.mdn, carrier_line.c.iccid, carrier_line.c.imsi, vehicle.c.vehicle_no),
        )
        .select_from(
            carrier_line.join(sensor, sensor.c.id == carrier_line.c.sensor_id).outerjoin(
                vehicle, vehicle.c.id == sensor.c.vehicle_id
            )
        )
        .where(*within, reach.predicate(reaches, sensor.c.id))
        .order_by(number)
        .limit(bindparam("most"))
    )


@cache
def _by_name(reaches: scopes.Reaches) -> Hot:
    name: Column[str] = account.c.name
    beginning = lowered(bindparam("text", type_=name.type))
    statement = _people(reaches, *_in_range(name)).where(
        account.c.authority == bindparam("of_role"), func.substr(lowered(name), 1, func.length(beginning)) == beginning
    )
    return Hot(statement, *_WHO, "of_role", "text", *_BOUNDS)


@cache
def _by_column(reaches: scopes.Reaches, name: str) -> Hot:
    return Hot(_people(reaches, *_in_range(account.c[name])).where(_has_role()), *_WHO, *_BOUNDS)


@cache
def _by_ending(reaches: scopes.Reaches) -> Hot:
    phone = account.c.phone
    statement = _people(reaches, endings.found(phone), endings.ends(phone)).where(_has_role())
    return Hot(statement, *_WHO, "most", *endings.NAMES)


def _has_role() -> ColumnElement[bool]:
    # Spelled out: a hot statement knows no lists.
    return or_(*(beside_index(account.c.authority) == literal(role.value) for role in ROLES))


def _in_range(column: Column[str]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return column >= bindparam("range_from"), column < bindparam("range_to")


def _whole(reaches: scopes.Reaches) -> Select[tuple[str]]:
    """Select the companies that are inside as a whole."""
    mine = company.c.id == bindparam(scopes.COMPANY)
    partner = company.c.master_id == bindparam(scopes.COMPANY)
    tests = {Reach.ANY: true(), Reach.OWN_COMPANY: mine, Reach.PARTNERS: and_(partner, ~mine)}
    return select(company.c.id).where(or_(false(), *(test for reach, test in tests.items() if reach in reaches)))


def _people(reaches: scopes.Reaches, *within: ColumnElement[bool]) -> Any:
    """The people of companies inside as a whole, company by company, who meet these conditions too."""
    return (
        select(account.c.id, account.c.name, account.c.email, account.c.phone, account.c.authority, company.c.name)
        .select_from(account.join(company, company.c.id == account.c.company_id))
        .where(account.c.company_id.in_(_whole(reaches)), *within, scopes.accounts(reaches))
        .limit(bindparam("most"))
    )
