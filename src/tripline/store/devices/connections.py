"""The connection of each device: one row a sensor, written when it changes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec
from sqlalchemy import bindparam, delete, select, text, update

from tripline.domain.ids import CompanyId, RowNo, SensorId, VehicleId
from tripline.store.bulk import Bulk
from tripline.store.tables import device_connection, sensor
from tripline.store.transactions import Hot, ReadTx, WriteTx

_CHANGES: Final = Bulk(
    device_connection,
    *("sensor_id", "connected", "changed_ms", "seen_ms", "lost_ms", "reason", "told", "node_id", "session_no"),
    on_conflict="ON CONFLICT (sensor_id) DO UPDATE SET connected = excluded.connected,"
    " changed_ms = excluded.changed_ms, seen_ms = excluded.seen_ms, told = excluded.told,"
    " node_id = excluded.node_id, session_no = excluded.session_no,"
    " lost_ms = coalesce(excluded.lost_ms, device_connection.lost_ms),"
    " reason = coalesce(excluded.reason, device_connection.reason)",
)
_BLANK: Final = Bulk(
    device_connection,
    *("sensor_id", "connected", "changed_ms", "seen_ms", "told"),
    on_conflict="ON CONFLICT (sensor_id) DO NOTHING",
)
_SUBJECTS: Final = (
    select(
        sensor.c.id,
        sensor.c.company_id,
        sensor.c.vehicle_id,
        device_connection.c.told,
        device_connection.c.connected,
        device_connection.c.node_id,
        device_connection.c.session_no,
    )
    .outerjoin(device_connection, device_connection.c.sensor_id == sensor.c.id)
    .where(sensor.c.id.in_(bindparam("ids", expanding=True)))
)
_SEEN: Final = (
    update(device_connection)
    .where(device_connection.c.sensor_id == bindparam("of_sensor"), device_connection.c.connected.is_(True))
    .values(seen_ms=bindparam("at_ms"))
)
_LATEST: Final = Hot(
    select(device_connection.c.node_id, device_connection.c.session_no).where(
        device_connection.c.sensor_id == bindparam("of_sensor"), device_connection.c.connected.is_(True)
    ),
    "of_sensor",
)
_COMPARED: Final = Hot(
    text(
        "SELECT live.sensor_id, live.no, CASE WHEN sensor.id IS NULL THEN 'credential'"
        " WHEN known.session_no > live.no THEN 'later' ELSE 'unknown' END FROM"
        " unnest(CAST(:ids AS text[]), CAST(:credentials AS text[]), CAST(:numbers AS int8[]))"
        " AS live (sensor_id, credential, no)"
        " LEFT JOIN sensor ON sensor.id = live.sensor_id AND sensor.credentials_id = live.credential"
        " LEFT JOIN device_connection AS known ON known.sensor_id = live.sensor_id"
        " WHERE sensor.id IS NULL OR known.session_no IS DISTINCT FROM live.no OR NOT known.connected"
        " OR known.node_id IS DISTINCT FROM :node"
    ),
    *("ids", "credentials", "numbers", "node"),
)


class Change(msgspec.Struct, frozen=True):
    """A session that began, or ended for a reason."""

    sensor_id: SensorId
    connected: bool
    at_ms: int
    seen_ms: int
    session_no: RowNo
    lost_ms: int | None = None
    """The end of the previous session; for an end, `at_ms`. None: unchanged."""
    reason: str | None = None


class Subject(msgspec.Struct, frozen=True):
    """A sensor as it is now, and the last state of its connection that customers got."""

    company_id: CompanyId
    vehicle_id: VehicleId | None
    told: bool
    connected: bool
    node_id: str | None
    """The gateway that holds the latest session, or held it."""
    session_no: RowNo
    """Of the latest session; 0 when there was none."""


class Away(msgspec.Struct, frozen=True):
    """A lost device that has not returned, while its customers still believe it connected."""

    sensor_id: SensorId
    lost_ms: int
    company_id: CompanyId
    vehicle_id: VehicleId | None


class Session(msgspec.Struct, frozen=True):
    """A session that goes on."""

    node_id: str | None
    """The gateway that holds it, where there are several processes."""
    session_no: RowNo


class Connection(msgspec.Struct, frozen=True):
    """The stored state of a device's connection."""

    connected: bool
    changed_ms: int
    seen_ms: int
    lost_ms: int | None
    """When the last session ended; None: none has."""
    reason: str | None
    """Why it ended."""
    node_id: str | None
    """The gateway that holds the latest session, or held it, where there are several processes."""


_STATE: Final = [device_connection.c[name] for name in Connection.__struct_fields__]


def subjects(tx: WriteTx, sensor_ids: Sequence[SensorId], *, now_ms: int) -> dict[SensorId, Subject]:
    """The existing ones of these sensors, with their connection rows locked until the transaction ends."""
    found = _subjects(tx, sensor_ids)
    if not tx.shared or not found:
        return {sensor_id: subject for sensor_id, (subject, _) in found.items()}
    blank: list[Any] = []
    for sensor_id in sorted(sensor_id for sensor_id, (_, has_row) in found.items() if not has_row):
        blank += (sensor_id, False, now_ms, now_ms, False)
    if blank:
        # A missing row cannot be locked: two gateways that serve a new device at once would both report it.
        _BLANK.insert(tx, blank)
    rows = select(device_connection.c.sensor_id).where(device_connection.c.sensor_id.in_(found))
    tx.all(rows.order_by(device_connection.c.sensor_id).with_for_update())
    return {sensor_id: subject for sensor_id, (subject, _) in _subjects(tx, sensor_ids).items()}


def _subjects(tx: ReadTx, sensor_ids: Sequence[SensorId]) -> dict[SensorId, tuple[Subject, bool]]:
    return {
        SensorId(row.id): (
            Subject(
                CompanyId(row.company_id),
                row.vehicle_id,
                bool(row.told),
                bool(row.connected),
                row.node_id,
                RowNo(row.session_no or 0),
            ),
            row.connected is not None,
        )
        for row in tx.all(_SUBJECTS, {"ids": sensor_ids})
    }


def write(tx: WriteTx, changes: Iterable[Change], told: Mapping[SensorId, bool], *, node_id: str | None) -> None:
    """Store one change for each of these sensors, of sessions of this node, and the state last reported to
    customers."""
    values: list[Any] = []
    for change in changes:
        values += (change.sensor_id, change.connected, change.at_ms, change.seen_ms, change.lost_ms, change.reason)
        values += (told[change.sensor_id], node_id, change.session_no)
    _CHANGES.insert(tx, values)


def seen(tx: WriteTx, heard: Iterable[tuple[SensorId, int]]) -> None:
    """Keep when these connected devices, at least one, were last heard of."""
    tx.run(_SEEN, [{"of_sensor": sensor_id, "at_ms": at_ms} for sensor_id, at_ms in sorted(heard)])


def away(tx: ReadTx, *, before_ms: int, limit: int, lock: bool = False) -> list[Away]:
    """Devices lost up to the instant that customers believe connected, the longest lost first; `lock` locks them and
    skips rows locked by others."""
    row = device_connection.c
    untold = row.told != row.connected, row.connected.is_(False), row.changed_ms <= before_ms
    lost = select(row.sensor_id, row.changed_ms, sensor.c.company_id, sensor.c.vehicle_id)
    longest = lost.join(sensor, sensor.c.id == row.sensor_id).where(*untold).order_by(row.changed_ms).limit(limit)
    rows = tx.all(longest.with_for_update(of=device_connection, skip_locked=True) if lock else longest)
    return [Away(*each) for each in rows]


def told_away(tx: WriteTx, sensor_ids: Collection[SensorId]) -> None:
    """Note that customers got the absence of these devices."""
    tx.run(update(device_connection).where(device_connection.c.sensor_id.in_(sensor_ids)).values(told=False))


def of_sensor(tx: ReadTx, sensor_id: SensorId) -> Connection | None:
    """The sensor's connection, None when it never had one; the caller was let pass."""
    row = tx.one(select(*_STATE).where(device_connection.c.sensor_id == sensor_id))
    return None if row is None else Connection(*row)


def on_vehicle(tx: ReadTx, vehicle_id: VehicleId) -> dict[SensorId, Connection]:
    """The connections of the vehicle's sensors that ever connected; the caller checked access."""
    joined = select(sensor.c.id, *_STATE).join(device_connection, device_connection.c.sensor_id == sensor.c.id)
    rows = tx.all(joined.where(sensor.c.vehicle_id == vehicle_id))
    return {row[0]: Connection(*row[1:]) for row in rows}


def end_all(tx: WriteTx, *, reason: str) -> None:
    """End all sessions of a crashed server, each at its device's last sign of life."""
    gone = update(device_connection).where(device_connection.c.connected.is_(True))
    last_ms = device_connection.c.seen_ms
    tx.run(gone.values(connected=False, changed_ms=last_ms, lost_ms=last_ms, reason=reason))
    tx.run(update(device_connection).values(session_no=None))


def latest(tx: ReadTx, sensor_id: SensorId) -> Session | None:
    """The session of the sensor's device; None: it is not connected."""
    rows = tx.hot(_LATEST, sensor_id)
    return Session(rows[0][0], RowNo(rows[0][1] or 0)) if rows else None


class Trouble(StrEnum):
    """The difference between a gateway's session and its row."""

    CREDENTIAL = "credential"
    """The sensor is gone, or has another credential."""
    LATER = "later"
    """The sensor has a later session, elsewhere."""
    UNKNOWN = "unknown"
    """The rows do not know of it."""


def compared(
    tx: ReadTx, sessions: Sequence[tuple[SensorId, str, RowNo]], *, node_id: str
) -> list[tuple[SensorId, RowNo, Trouble]]:
    """The sessions of a gateway (sensor, credential, number) that differ from their rows. Only on PostgreSQL."""
    columns = [list(column) for column in zip(*sessions, strict=True)] or [[], [], []]
    return [(SensorId(row[0]), RowNo(row[1]), Trouble(row[2])) for row in tx.hot(_COMPARED, *columns, node_id)]


def forget(tx: WriteTx, sensor_id: SensorId) -> None:
    """Forget the connection of a sensor that is deleted."""
    tx.run(delete(device_connection).where(device_connection.c.sensor_id == sensor_id))
