"""The list of a company's messages in one state (waiting, dead-lettered, or delivered without confirmation), and how
many they are.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

import msgspec
from sqlalchemy import FromClause, Integer, ScalarSelect, bindparam, func, literal_column, select

from tripline.domain import pushes
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId
from tripline.domain.pushes import Channel, Message, Name, State
from tripline.store.listing import engine
from tripline.store.listing.engine import Filter, ListQuery, ListSpec, Search, tested
from tripline.store.listing.noun_list import Looked, NounList, shown
from tripline.store.tables import company, push_outbox, sensor
from tripline.store.transactions import Hot, ReadTx


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which messages to list, of one state; None: any."""

    state: State
    search: str | None = None
    """Beginning of the sensor's serial number, in any case."""
    channel: Channel | None = None
    name: Name | None = None
    company_id: CompanyId = CompanyId("")
    """Of the receiver; empty: nobody's."""


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


def _query(_: Scope | None, filters: Filters) -> ListQuery:
    channels = tuple(Channel) if filters.channel is None else (filters.channel,)
    name = "" if filters.name is None else filters.name.value
    chosen = {"company_id": filters.company_id, filters.state.value: True, name: True}
    query = engine.query_of(None, chosen, filters.search)
    # The index of dead-lettered messages is by company, the others are by channel, too.
    if filters.state is State.PARKED and filters.channel is None:
        return query
    return msgspec.structs.replace(query, parts=tuple(each.value for each in channels))


def _looked(row: FromClause) -> Looked:
    return Looked({"serial_no": sensor.c.serial_no}, [(sensor, sensor.c.id == row.c.sensor_id)])


def _search() -> Search:
    """Return the search for messages of sensors, of the company's service type, whose serial number begins so."""
    of_type = select(company.c.service_type).where(company.c.id == bindparam("company_id")).scalar_subquery()
    found = engine.beginning(sensor.c.serial_no, sensor.c.serial_key, of_type)
    of = sensor.alias("of_row")
    # No EXISTS: PostgreSQL would read all such sensors first.
    of_row = select(of.c.id).where(
        of.c.id == _ROW.sensor_id, of.c.service_type == of_type, engine.begins(of.c.serial_no)
    )
    return Search(
        names=engine.BOUNDS,
        values=engine.bounds,
        where=tested(_ROW.sensor_id.in_(found)),
        among=found,
        each=of_row.scalar_subquery().is_not(None),
    )


def _called(name: Name) -> Filter:
    numbers = [literal_column(str(number), Integer) for number in pushes.numbers_of(name)]
    return Filter(where=tested(_ROW.selector.in_(numbers)))


_ROW: Final = push_outbox.c
_IN_STATE: Final = {
    State.WAITING: _ROW.parked_ms.is_(None),
    State.PARKED: _ROW.parked_ms.is_not(None) & _ROW.unconfirmed_ms.is_(None),
    State.UNCONFIRMED: _ROW.unconfirmed_ms.is_not(None),
}
_SPEC: Final = ListSpec(
    rows=push_outbox,
    key=_ROW.id,
    orders={"made": _ROW.no},
    searches=(_search(),),
    filters={
        "company_id": Filter(where=_ROW.company_id == bindparam("company_id")),
        **{state.value: Filter(where=condition) for state, condition in _IN_STATE.items()},
        **{each.value: Filter(where=_ROW.channel == literal_column(f"'{each.value}'")) for each in Channel},
        **{each.value: _called(each) for each in Name},
    },
    shown=shown(Message, push_outbox, _looked, key="no", by="place"),
)
LIST: Final[NounList[Filters, Message]] = NounList(record=Message, spec=_SPEC, query=_query)
"""Messages to the servers of the company that the filters name."""
