"""A company's messages as a list: those that wait, were given up, or were delivered unconfirmed, by the time they were
put in line, and how many they are.

Not here: sending them again (`store/push/parked.py`), what the pusher does (`store/push/queue.py`).
"""

from collections.abc import Mapping
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
    exists,
    func,
    literal_column,
    select,
)

from tripline.domain import pushes
from tripline.domain.ids import CompanyId
from tripline.domain.pushes import Channel, Message, Name, State
from tripline.store import reached
from tripline.store.browsing.turns import Browsed, Slice, Source, Turn
from tripline.store.tables import push_outbox, sensor
from tripline.store.tables.base import lowered
from tripline.store.transactions import Hot, ReadTx


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which messages to list, of one state; None: any."""

    state: State
    search: str | None = None
    """Beginning of the sensor's serial number, in any case."""
    channel: Channel | None = None
    name: Name | None = None


def page(tx: ReadTx, company_id: CompanyId, filters: Filters, turn: Turn) -> Slice[Message]:
    """The messages of the turn to the company's servers; the caller checked permission."""
    return _BROWSED.page(tx, turn, _sources(filters), _values(company_id, filters)).mapped(_message)


def count(tx: ReadTx, company_id: CompanyId, filters: Filters) -> int:
    """How many messages the filters let pass; the caller checked permission."""
    return _BROWSED.count(tx, _sources(filters), _values(company_id, filters))


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


class _Which(NamedTuple):
    """The filters in force; each combination has its statement."""

    state: State
    along: Channel | None
    """The channel whose index is walked; None: the company's."""
    channel: Channel | None
    name: Name | None
    searched: bool


def _sources(filters: Filters) -> list[Source]:
    # What was given up has an index by company, the others one by address.
    every = tuple(Channel) if filters.channel is None else (filters.channel,)
    along = (None,) if filters.state is State.PARKED else every
    channel = filters.channel if filters.state is State.PARKED else None
    return [
        Source(_conditions, (_Which(filters.state, each, channel, filters.name, bool(filters.search)),), walked=True)
        for each in along
    ]


def _values(company_id: CompanyId, filters: Filters) -> tuple[str, str]:
    return company_id, filters.search or ""


def _conditions(which: _Which) -> list[ColumnElement[bool]]:
    conditions = [_IN_STATE[which.state], _ROW.company_id == bindparam("company_id")]
    if which.along is not None:
        conditions.append(_ROW.channel == literal_column(f"'{which.along.value}'"))
    if which.channel is not None:
        conditions.append(reached.tested(_ROW.channel == which.channel.value))
    if which.name is not None:
        numbers = [literal_column(str(number), Integer) for number in pushes.numbers_of(which.name)]
        conditions.append(reached.tested(_ROW.selector.in_(numbers)))
    if which.searched:
        text = lowered(bindparam("of_text", type_=sensor.c.serial_no.type))
        begins = func.substr(lowered(sensor.c.serial_no), 1, func.length(text)) == text
        conditions.append(reached.tested(exists().where(sensor.c.id == _ROW.sensor_id, begins)))
    return conditions


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
_BROWSED: Final = Browsed(_ROW.id, {"made": _ROW.no}, "made", _shown, ("company_id", "of_text"))


def _message(row: tuple[Any, ...]) -> Message:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return Message(**{**values, "channel": Channel(values["channel"])})
