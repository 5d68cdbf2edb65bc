"""Rows of messages on their way to devices that another process is connected with. Only on PostgreSQL.

The gateway deletes a row before it sends the message: it is sent once at most, and never after its time, by the clock
of the database.
"""

from typing import Final

import msgspec
from sqlalchemy import delete, insert, select

from tripline.domain.ids import RowNo, SensorId
from tripline.store.database.nodes import NOW_MS
from tripline.store.devices import connections
from tripline.store.tables import device_send
from tripline.store.transactions import ReadTx, WriteTx

_SEND: Final = device_send.c


class Waiting(msgspec.Struct, frozen=True):
    """A message that waits to be sent, and who asked for that."""

    no: RowNo
    asked_by: str
    sensor_id: SensorId
    topic: str
    body: bytes
    in_time: bool


def put(tx: WriteTx, waiting: Waiting, *, within_ms: int) -> str | None:
    """Store a message for the gateway that holds the connection of the device; return that node, None without one."""
    session = connections.latest(tx, waiting.sensor_id)
    node_id = None if session is None else session.node_id
    if node_id is None or node_id == waiting.asked_by:
        return None
    values = {name: getattr(waiting, name) for name in Waiting.__struct_fields__ if name in _SEND}
    tx.run(insert(device_send).values(**values, node_id=node_id, until_ms=NOW_MS + within_ms))
    return node_id


def take(tx: WriteTx, node_id: str, *, limit: int) -> list[Waiting]:
    """Take messages that wait for this gateway, the oldest first."""
    first = select(_SEND.no).where(_SEND.node_id == node_id).order_by(_SEND.no).limit(limit)
    taken = delete(device_send).where(_SEND.no.in_(first.with_for_update(skip_locked=True)))
    columns = _SEND.no, _SEND.asked_by, _SEND.sensor_id, _SEND.topic, _SEND.body, _SEND.until_ms > NOW_MS
    return sorted((Waiting(*row) for row in tx.all(taken.returning(*columns))), key=lambda waiting: waiting.no)


def withdraw(tx: WriteTx, no: RowNo) -> bool:
    """Withdraw this message; False when it was taken."""
    return tx.run(delete(device_send).where(_SEND.no == no)) == 1


def waits(tx: ReadTx, no: RowNo) -> bool:
    """True if the message has not been taken yet."""
    return tx.one(select(_SEND.no).where(_SEND.no == no)) is not None
