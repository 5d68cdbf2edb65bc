"""Rows of a company's messages as its administrators look at them: those that wait, were given up, or were delivered
unconfirmed, by the time they were put in line.

Not here: how many there are, and sending them again (`parked.py`), what the pusher does (`queue.py`).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import BindParameter, bindparam, select, true

from tripline.domain.ids import CompanyId, RowNo
from tripline.domain.pushes import Channel, Message, State
from tripline.store.tables import push_outbox, sensor
from tripline.store.transactions import Hot, ReadTx

_ROW: Final = push_outbox.c
_IN_STATE: Final = {
    State.WAITING: _ROW.parked_ms.is_(None),
    State.PARKED: _ROW.parked_ms.is_not(None) & _ROW.unconfirmed_ms.is_(None),
    State.UNCONFIRMED: _ROW.unconfirmed_ms.is_not(None),
}
_LAST: Final = 2**63 - 1
_FIELDS: Final = list(Message.__struct_fields__)


def page(tx: ReadTx, company_id: CompanyId, state: State, *, after: RowNo | None, limit: int) -> Sequence[Message]:
    """Messages to the company's servers behind this number; the caller checked permission.

    What waits comes in its order, the rest the newest first.
    """
    ascending = state is State.WAITING
    place = after if after is not None else 0 if ascending else _LAST
    # What was given up has an index by company, the others one by address: both at once would have to be sorted.
    channels = (None,) if state is State.PARKED else tuple(channel.value for channel in Channel)
    found = [
        row
        for channel in channels
        for row in tx.hot(_page(state, channel is not None), company_id, channel, place, limit)
    ]
    found.sort(key=lambda row: row[0], reverse=not ascending)
    return [_message(row) for row in found[:limit]]


@cache
def _page(state: State, of_channel: bool) -> Hot:
    ascending = state is State.WAITING
    columns = [sensor.c.serial_no if name == "serial_no" else _ROW[name] for name in _FIELDS]
    place: BindParameter[int] = bindparam("after")
    statement = (
        select(*columns)
        .select_from(push_outbox.outerjoin(sensor, sensor.c.id == _ROW.sensor_id))
        .where(
            _IN_STATE[state],
            _ROW.company_id == bindparam("company_id"),
            _ROW.channel == bindparam("channel") if of_channel else true(),
            _ROW.no > place if ascending else _ROW.no < place,
        )
        .order_by(_ROW.no if ascending else _ROW.no.desc())
        .limit(bindparam("limit"))
    )
    return Hot(statement, "company_id", "channel", "after", "limit")


def _message(row: tuple[Any, ...]) -> Message:
    values = dict(zip(_FIELDS, row, strict=True))
    return Message(**{**values, "channel": Channel(values["channel"])})
