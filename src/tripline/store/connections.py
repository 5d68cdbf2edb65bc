"""Whether each device is connected: one row a sensor, written when that changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import bindparam, delete, select, update

from tripline.domain.ids import RowNo, SensorId
from tripline.store.bulk import Bulk
from tripline.store.tables import device_connection, sensor
from tripline.store.transactions import Hot, ReadTx, WriteTx

_CHANGES: Final = Bulk(
    device_connection,
    *("sensor_id", "session_no", "connected", "changed_ms", "seen_ms", "reason", "told"),
    on_conflict="ON CONFLICT (sensor_id) DO UPDATE SET session_no = excluded.session_no,"
    " connected = excluded.connected, changed_ms = excluded.changed_ms, seen_ms = excluded.seen_ms,"
    " reason = coalesce(excluded.reason, device_connection.reason)"
    " WHERE excluded.session_no >= device_connection.session_no",
)
_EXISTING: Final = select(sensor.c.id).where(sensor.c.id.in_(bindparam("ids", expanding=True)))
_OF_SENSOR: Final = Hot(
    select(
        device_connection.c.connected,
        device_connection.c.changed_ms,
        device_connection.c.seen_ms,
        device_connection.c.reason,
    ).where(device_connection.c.sensor_id == bindparam("of_sensor")),
    "of_sensor",
)


@dataclass(frozen=True, slots=True)
class Change:
    """A session that began, or ended for a reason."""

    sensor_id: SensorId
    session_no: RowNo
    connected: bool
    at_ms: int
    seen_ms: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """What is known of a device's connection."""

    connected: bool
    changed_ms: int
    seen_ms: int
    reason: str | None
    """Why the last session ended; None: none has."""


def write(tx: WriteTx, changes: Sequence[Change]) -> None:
    """Keep the changes, in this order; those of deleted sensors and of older sessions are left out."""
    existing = {row.id for row in tx.all(_EXISTING, {"ids": [change.sensor_id for change in changes]})}
    values: list[Any] = []
    for change in changes:
        if change.sensor_id in existing:
            values += (change.sensor_id, change.session_no, change.connected, change.at_ms, change.seen_ms)
            values += (change.reason, False)
    _CHANGES.insert(tx, values)


def of_sensor(tx: ReadTx, sensor_id: SensorId) -> Connection | None:
    """The sensor's connection, None when it never had one; the caller was let pass."""
    rows = tx.hot(_OF_SENSOR, sensor_id)
    if not rows:
        return None
    connected, changed_ms, seen_ms, reason = rows[0]
    return Connection(bool(connected), changed_ms, seen_ms, reason)


def end_all(tx: WriteTx, *, reason: str) -> None:
    """The server that held these sessions is gone: none of them is live."""
    statement = update(device_connection).where(device_connection.c.connected.is_(True))
    tx.run(statement.values(connected=False, reason=reason))


def forget(tx: WriteTx, sensor_id: SensorId) -> None:
    """Forget the connection of a sensor that is deleted."""
    tx.run(
        delete(device_connection).where(device_connection.c.sensor_id == bindparam("of_sensor")),
        {"of_sensor": sensor_id},
    )
