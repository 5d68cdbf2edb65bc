"""Rows of messages on their way to devices that another process is connected with. Only on PostgreSQL.

The gateway deletes a row before it sends the message: it is sent once at most, and never after its time, by the clock
of the database.
"""

from typing import Final

import msgspec
from sqlalchemy import bindparam, delete, exists, insert, select

from tripline.domain.ids import RowNo, SensorId
from tripline.store.database.nodes import NOW_MS
from tripline.store.devices import connections
from tripline.store.tables import device_send
from tripline.store.transactions import ReadTx, WriteTx

_NEXT: Final = (
    select(device_send.c.no)
    .where(device_send.c.node_id == bindparam("of_node"))
    .order_by(device_send.c.no)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
_TAKE: Final = (
    delete(device_send)
    .where(device_send.c.no.in_(_NEXT))
    .returning(
        device_send.c.no,
        device_send.c.asked_by,
        device_send.c.sensor_id,
        device_send.c.topic,
        device_send.c.body,
        (device_send.c.until_ms > NOW_MS).label("in_time"),
    )
)
_WITHDRAW: Final = delete(device_send).where(device_send.c.no == bindparam("key"))
_WAITS: Final = select(exists().where(device_send.c.no == bindparam("key")))


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
    values = {
        "no": waiting.no,
        "node_id": node_id,
        "asked_by": waiting.asked_by,
        "sensor_id": waiting.sensor_id,
        "topic": waiting.topic,
        "body": waiting.body,
    }
    tx.run(insert(device_send).values(**values, until_ms=NOW_MS + within_ms))
    return node_id


def take(tx: WriteTx, node_id: str, *, limit: int) -> list[Waiting]:
    """Take messages that wait for this gateway, the oldest first."""
    rows = tx.all(_TAKE, {"of_node": node_id, "most": limit})
    taken = [
        Waiting(RowNo(row.no), row.asked_by, SensorId(row.sensor_id), row.topic, bytes(row.body), row.in_time)
        for row in rows
    ]
    return sorted(taken, key=lambda waiting: waiting.no)


def withdraw(tx: WriteTx, no: RowNo) -> bool:
    """Withdraw this message; False when it was taken."""
    return tx.run(_WITHDRAW, {"key": no}) == 1


def waits(tx: ReadTx, no: RowNo) -> bool:
    """True if the message has not been taken yet."""
    return bool(tx.all(_WAITS, {"key": no})[0][0])
