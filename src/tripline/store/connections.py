"""Whether each device is connected: one row a sensor, written when that changes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import bindparam, delete, select, update

from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.store.bulk import Bulk
from tripline.store.tables import device_connection, sensor
from tripline.store.transactions import Hot, ReadTx, WriteTx

_CHANGES: Final = Bulk(
    device_connection,
    *("sensor_id", "connected", "changed_ms", "seen_ms", "lost_ms", "reason", "told"),
    on_conflict="ON CONFLICT (sensor_id) DO UPDATE SET connected = excluded.connected,"
    " changed_ms = excluded.changed_ms, seen_ms = excluded.seen_ms, told = excluded.told,"
    " lost_ms = coalesce(excluded.lost_ms, device_connection.lost_ms),"
    " reason = coalesce(excluded.reason, device_connection.reason)",
)
_SUBJECTS: Final = (
    select(sensor.c.id, sensor.c.company_id, sensor.c.vehicle_id, device_connection.c.told)
    .outerjoin(device_connection, device_connection.c.sensor_id == sensor.c.id)
    .where(sensor.c.id.in_(bindparam("ids", expanding=True)))
)
_AWAY: Final = (
    select(device_connection.c.sensor_id, device_connection.c.changed_ms, sensor.c.company_id, sensor.c.vehicle_id)
    .join(sensor, sensor.c.id == device_connection.c.sensor_id)
    .where(
        device_connection.c.told != device_connection.c.connected,
        device_connection.c.connected.is_(False),
        device_connection.c.changed_ms <= bindparam("before_ms"),
    )
    .order_by(device_connection.c.changed_ms)
    .limit(bindparam("at_most"))
)
_OF_SENSOR: Final = Hot(
    select(
        device_connection.c.connected,
        device_connection.c.changed_ms,
        device_connection.c.seen_ms,
        device_connection.c.lost_ms,
        device_connection.c.reason,
    ).where(device_connection.c.sensor_id == bindparam("of_sensor")),
    "of_sensor",
)
_SEEN: Final = (
    update(device_connection)
    .where(device_connection.c.sensor_id == bindparam("of_sensor"), device_connection.c.connected.is_(True))
    .values(seen_ms=bindparam("at_ms"))
)
_TOLD_AWAY: Final = (
    update(device_connection).where(device_connection.c.sensor_id == bindparam("of_sensor")).values(told=False)
)


@dataclass(frozen=True, slots=True)
class Change:
    """A session that began, or ended for a reason."""

    sensor_id: SensorId
    connected: bool
    at_ms: int
    seen_ms: int
    lost_ms: int | None = None
    """When the session before it ended; of an end: `at_ms`. None: as it is known."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """A sensor as it is now, and what customers were told last of its connection."""

    company_id: CompanyId
    vehicle_id: VehicleId | None
    told: bool


@dataclass(frozen=True, slots=True)
class Away:
    """A device that was lost and did not come back, while customers were told that it is there."""

    sensor_id: SensorId
    lost_ms: int
    company_id: CompanyId
    vehicle_id: VehicleId | None


@dataclass(frozen=True, slots=True)
class Connection:
    """What is known of a device's connection."""

    connected: bool
    changed_ms: int
    seen_ms: int
    lost_ms: int | None
    """When the last session ended; None: none has."""
    reason: str | None
    """Why it ended."""


def subjects(tx: ReadTx, sensor_ids: Sequence[SensorId]) -> dict[SensorId, Subject]:
    """Those of the sensors that exist."""
    return {
        SensorId(row.id): Subject(CompanyId(row.company_id), row.vehicle_id, bool(row.told))
        for row in tx.all(_SUBJECTS, {"ids": sensor_ids})
    }


def write(tx: WriteTx, changes: Iterable[Change], told: Mapping[SensorId, bool]) -> None:
    """Keep one change for each of these sensors, and what customers were told by then."""
    values: list[Any] = []
    for change in changes:
        values += (change.sensor_id, change.connected, change.at_ms, change.seen_ms, change.lost_ms, change.reason)
        values.append(told[change.sensor_id])
    _CHANGES.insert(tx, values)


def seen(tx: WriteTx, heard: Iterable[tuple[SensorId, int]]) -> None:
    """Keep when these connected devices, at least one, were last heard of."""
    tx.run(_SEEN, [{"of_sensor": sensor_id, "at_ms": at_ms} for sensor_id, at_ms in heard])


def away(tx: ReadTx, *, before_ms: int, limit: int) -> list[Away]:
    """Devices lost up to the instant that customers believe to be there, the longest lost first."""
    rows = tx.all(_AWAY, {"before_ms": before_ms, "at_most": limit})
    return [Away(SensorId(row.sensor_id), row.changed_ms, CompanyId(row.company_id), row.vehicle_id) for row in rows]


def told_away(tx: WriteTx, sensor_ids: Iterable[SensorId]) -> None:
    """Customers were told that these devices, at least one, are away."""
    tx.run(_TOLD_AWAY, [{"of_sensor": sensor_id} for sensor_id in sensor_ids])


def of_sensor(tx: ReadTx, sensor_id: SensorId) -> Connection | None:
    """The sensor's connection, None when it never had one; the caller was let pass."""
    rows = tx.hot(_OF_SENSOR, sensor_id)
    if not rows:
        return None
    connected, changed_ms, seen_ms, lost_ms, reason = rows[0]
    return Connection(bool(connected), changed_ms, seen_ms, lost_ms, reason)


def end_all(tx: WriteTx, *, reason: str) -> None:
    """The server that held these sessions is gone: each ended, as far as is known, when its device was last heard."""
    gone = update(device_connection).where(device_connection.c.connected.is_(True))
    last_ms = device_connection.c.seen_ms
    tx.run(gone.values(connected=False, changed_ms=last_ms, lost_ms=last_ms, reason=reason))


def forget(tx: WriteTx, sensor_id: SensorId) -> None:
    """Forget the connection of a sensor that is deleted."""
    tx.run(
        delete(device_connection).where(device_connection.c.sensor_id == bindparam("of_sensor")),
        {"of_sensor": sensor_id},
    )
