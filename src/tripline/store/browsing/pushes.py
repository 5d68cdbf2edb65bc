"""A company's messages as a list: those that wait, were given up, or were delivered unconfirmed, by the time they were
put in line, and how many they are.

Not here: sending them again (`store/push/parked.py`), what the pusher does (`store/push/queue.py`).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import (
    ColumnElement,
    Integer,
    ScalarSelect,
    Select,
    Subquery,
    bindparam,
    func,
    literal_column,
    select,
    union_all,
)

from tripline.domain import pushes
from tripline.domain.ids import CompanyId
from tripline.domain.pushes import Channel, Message, Name, State
from tripline.store import prefixes, reached
from tripline.store.browsing.pages import MANY, ListQuery, Page, PageRequest, Source
from tripline.store.tables import company, push_outbox, sensor
from tripline.store.tables.base import lowered
from tripline.store.transactions import Hot, ReadTx


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which messages to list, of one state; None: any."""

    state: State
    search: str | None = None
    """Beginning of the sensor's serial number, in any case."""
    channel: Channel | None = None
    name: Name | None = None


def page(tx: ReadTx, company_id: CompanyId, filters: Filters, page_request: PageRequest) -> Page[Message]:
    """The messages of the page to the company's servers; the caller checked permission."""
    sensors = _sensors(tx, company_id, filters.search)
    return _QUERY.page(tx, page_request, _sources(filters, sensors), _values(company_id, filters, sensors)).mapped(
        _message
    )


def count(tx: ReadTx, company_id: CompanyId, filters: Filters) -> int:
    """How many messages the filters let pass; the caller checked permission."""
    sensors = _sensors(tx, company_id, filters.search)
    return _QUERY.count(tx, _sources(filters, sensors), _values(company_id, filters, sensors))


def counts(tx: ReadTx, company_id: CompanyId, *, most: int) -> Mapping[State, int]:
    """How many messages are in each state, counted up to `most`; the caller checked permission."""
    return dict(zip(State, tx.hot(_counts(most), company_id)[0], strict=True))


@cache
def _counts(most: int) -> Hot:
    return Hot(select(*(_up_to(most, state) for state in State)), "company_id")


def _up_to(most: int, state: State) -> ScalarSelect[int]:
    # In the order of the index: PostgreSQL would look through the whole table for a company that many rows are of.
    order = (_ROW.no,) if state is State.PARKED else (_ROW.channel, _ROW.no)
    found = select(_ROW.no).where(_IN_STATE[state], _ROW.company_id == bindparam("company_id")).order_by(*order)
    few = found.limit(literal_column(str(most), Integer)).subquery()
    return select(func.count()).select_from(few).scalar_subquery()


class _Sensors(NamedTuple):
    """Those of the company's service type whose serial numbers begin as searched for. An operator gets messages about
    its partners' sensors, too."""

    ranges: Sequence[tuple[str, str]]
    """Those of the search that hold any."""
    few: bool
    """Up to `MANY`: they are found first; of more, the first messages of the order are met soon."""


def _sensors(tx: ReadTx, company_id: CompanyId, search: str | None) -> _Sensors | None:
    """None: no search."""
    if not search:
        return None
    ranges = prefixes.ranges(search)
    found = tx.hot_in(ranges, _FOUND, company_id, search)
    return _Sensors(
        [bounds for bounds in ranges if any(number and first.startswith(bounds[0]) for first, number in found)],
        sum(number for _, number in found) <= MANY,
    )


class _Which(NamedTuple):
    """The filters in force; each combination has its statement."""

    state: State
    along: Channel | None
    """The channel whose index is walked; None: the company's."""
    channel: Channel | None
    name: Name | None
    searched: bool
    ranges: int
    """How many ranges of serial numbers hold the few sensors that are searched for; 0: each row's is compared."""


def _sources(filters: Filters, sensors: _Sensors | None) -> list[Source]:
    if sensors is not None and not sensors.ranges:
        return []
    # A power of two, so that there are few statements: ranges that are too many hold nothing.
    ranges = 1 << (len(sensors.ranges) - 1).bit_length() if sensors is not None and sensors.few else 0
    # What was given up has an index by company, the others one by address.
    every = tuple(Channel) if filters.channel is None else (filters.channel,)
    along = (None,) if filters.state is State.PARKED else every
    channel = filters.channel if filters.state is State.PARKED else None
    which = _Which(filters.state, None, channel, filters.name, sensors is not None, ranges)
    return [Source(_conditions, (which._replace(along=each),), walked=True) for each in along]


def _values(company_id: CompanyId, filters: Filters, sensors: _Sensors | None) -> tuple[str, ...]:
    """In the order of `_NAMES`."""
    bounds = [bound for each in (sensors.ranges if sensors is not None else ()) for bound in each]
    return company_id, filters.search or "", *bounds, *("" for _ in range(2 * prefixes.MOST - len(bounds)))


def _conditions(which: _Which) -> list[ColumnElement[bool]]:
    conditions = [_IN_STATE[which.state], _ROW.company_id == bindparam("company_id")]
    if which.along is not None:
        conditions.append(_ROW.channel == literal_column(f"'{which.along.value}'"))
    if which.channel is not None:
        conditions.append(reached.tested(_ROW.channel == which.channel.value))
    if which.name is not None:
        numbers = [literal_column(str(number), Integer) for number in pushes.numbers_of(which.name)]
        conditions.append(reached.tested(_ROW.selector.in_(numbers)))
    if which.ranges:
        few = [select(sensor.c.id).where(*_in_range(f"from_{n}", f"to_{n}")) for n in range(which.ranges)]
        conditions.append(reached.tested(_ROW.sensor_id.in_(few[0] if which.ranges == 1 else union_all(*few))))
    elif which.searched:
        # Asked for as a value: PostgreSQL would find every sensor first that an EXISTS asks for.
        begins = select(_begins()).where(sensor.c.id == _ROW.sensor_id).scalar_subquery()
        conditions.append(reached.tested(begins))
    return conditions


def _in_range(low: str, high: str) -> list[ColumnElement[bool]]:
    """That a sensor of the company's service type has a serial number in the range, which begins as searched for."""
    of_type = select(company.c.service_type).where(company.c.id == bindparam("company_id")).scalar_subquery()
    serial = sensor.c.serial_no
    return [
        sensor.c.service_type == of_type,
        serial >= bindparam(low),
        serial < bindparam(high),
        reached.tested(_begins()),
    ]


def _begins() -> ColumnElement[bool]:
    text = lowered(bindparam("of_text", type_=sensor.c.serial_no.type))
    return func.substr(lowered(sensor.c.serial_no), 1, func.length(text)) == text


def _found() -> Hot:
    """The first of the sensors in a range, and how many there are, counted up to one more than `MANY`."""
    serial = sensor.c.serial_no
    within = select(serial).where(*_in_range("page_from", "page_to")).order_by(serial)
    few = within.limit(literal_column(str(MANY + 1), Integer)).subquery()
    return Hot(
        select(func.min(few.c.serial_no), func.count()).select_from(few),
        *("company_id", "of_text", "page_from", "page_to"),
    )


def _shown(page: Subquery) -> Select[Any]:
    row = push_outbox.alias("shown")
    columns = [sensor.c.serial_no if name == "serial_no" else row.c[name] for name in _FIELDS]
    joined = page.join(row, row.c.no == page.c.place).outerjoin(sensor, sensor.c.id == row.c.sensor_id)
    return select(page.c.place, page.c.key, *columns).select_from(joined)


_ROW: Final = push_outbox.c
_IN_STATE: Final = {
    State.WAITING: _ROW.parked_ms.is_(None),
    State.PARKED: _ROW.parked_ms.is_not(None) & _ROW.unconfirmed_ms.is_(None),
    State.UNCONFIRMED: _ROW.unconfirmed_ms.is_not(None),
}
_FIELDS: Final = Message.__struct_fields__
_NAMES: Final = ("company_id", "of_text", *(f"{end}_{n}" for n in range(prefixes.MOST) for end in ("from", "to")))
_QUERY: Final = ListQuery(_ROW.id, {"made": _ROW.no}, "made", _shown, _NAMES)
_FOUND: Final = _found()


def _message(row: tuple[Any, ...]) -> Message:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return Message(**{**values, "channel": Channel(values["channel"])})
