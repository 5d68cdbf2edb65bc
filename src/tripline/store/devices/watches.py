"""Devices watched with `tripline device check`, and the traces of their messages.

A watch expires by itself (`until_ms`); its trace covers only the last minutes.

Not here: writing traces (`services/ingest/traces.py`), reading them (`services/device_check.py`).
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import bindparam, delete, func, or_, select

from tripline.domain import ids
from tripline.domain.access import Reach, Scope
from tripline.domain.ids import RowNo, SensorId
from tripline.store.bulk import Bulk
from tripline.store.tables import device_connection, device_trace, device_watch, driving_score, rpc_call, trip
from tripline.store.transactions import Hot, ReadTx, WriteTx

TRACES: Final = Bulk(
    device_trace, "no", "sensor_id", "topic", "outcome", "body", on_conflict="ON CONFLICT (no) DO NOTHING"
)
PURGED_AT_ONCE: Final = 1_000
LONGEST_MS: Final = 600_000
"""No watch lasts longer without being prolonged."""
_WATCHES: Final = Bulk(
    device_watch,
    "sensor_id",
    "until_ms",
    on_conflict="ON CONFLICT (sensor_id) DO UPDATE SET until_ms = excluded.until_ms",
)
_ALL: Final = Hot(
    select(device_watch.c.sensor_id, device_watch.c.until_ms).where(device_watch.c.until_ms > bindparam("now")), "now"
)
_ENDED: Final = or_(device_watch.c.until_ms <= bindparam("now"), device_watch.c.until_ms > bindparam("beyond"))
"""Expired, or from before the clock was set back."""
_EXPIRED: Final = Hot(select(device_watch.c.sensor_id).where(_ENDED), "now", "beyond")
_SINCE: Final = Hot(
    select(device_trace.c.no, device_trace.c.topic, device_trace.c.outcome, device_trace.c.body)
    .where(device_trace.c.sensor_id == bindparam("of_sensor"), device_trace.c.no > bindparam("after"))
    .order_by(device_trace.c.no)
    .limit(bindparam("most")),
    *("of_sensor", "after", "most"),
)
_NEWEST: Final = Hot(
    select(func.max(device_trace.c.no)).where(device_trace.c.sensor_id == bindparam("of_sensor")), "of_sensor"
)
_STALE: Final = or_(device_trace.c.no < bindparam("first"), device_trace.c.no > bindparam("last"))
_ANY_STALE: Final = Hot(select(device_trace.c.no).where(_STALE).limit(1), "first", "last")
_SESSION: Final = Hot(
    select(device_connection.c.connected, device_connection.c.changed_ms, device_connection.c.reason).where(
        device_connection.c.sensor_id == bindparam("of_sensor")
    ),
    "of_sensor",
)
_TRIPS: Final = Hot(
    select(trip.c.no, trip.c.id, trip.c.tid, trip.c.state, trip.c.not_scored, driving_score.c.score, trip.c.quality)
    .outerjoin(driving_score, driving_score.c.trip_no == trip.c.no)
    .where(trip.c.sensor_id == bindparam("of_sensor"))
    .order_by(trip.c.no.desc())
    .limit(bindparam("most")),
    "of_sensor",
    "most",
)
_CALLS: Final = Hot(
    select(rpc_call.c.no, rpc_call.c.id, rpc_call.c.method, rpc_call.c.state, rpc_call.c.result_code)
    .where(rpc_call.c.sensor_id == bindparam("of_sensor"))
    .order_by(rpc_call.c.no.desc())
    .limit(bindparam("most")),
    "of_sensor",
    "most",
)


class Trace(NamedTuple):
    """The trace entry of a watched device's message."""

    sensor_id: SensorId
    topic: str
    outcome: str
    body: bytes


class Traced(msgspec.Struct, frozen=True):
    """One message of a watched device."""

    no: RowNo
    topic: str
    outcome: str
    body: bytes

    @property
    def received_ms(self) -> int:
        """When it was taken in, epoch ms."""
        return ids.ms_of_no(self.no)


class Session(msgspec.Struct, frozen=True):
    """The newest session of a device."""

    connected: bool
    changed_ms: int
    reason: str | None
    """Why the last one ended that no other took over."""


class TripState(msgspec.Struct, frozen=True):
    """How far one of the sensor's trips is."""

    no: int
    id: str
    tid: int | None
    state: str
    not_scored: str | None
    score: float | None
    quality: bytes | None = None
    """How good its samples were (`scoring/quality.py`); None until it is judged."""


class CallState(msgspec.Struct, frozen=True):
    """How far a call to the device is."""

    no: int
    id: str
    method: str
    state: str
    result_code: int | None


def watched(tx: ReadTx, scope: Scope, *, now_ms: int) -> dict[SensorId, int]:
    """The watched sensors, and until when each is."""
    _everything(scope)
    return dict(tx.hot(_ALL, now_ms))


def watch(tx: WriteTx, scope: Scope, sensor_id: SensorId, *, until_ms: int) -> None:
    """Watch the sensor until the instant."""
    _everything(scope)
    _WATCHES.insert(tx, [sensor_id, until_ms])


def end(tx: WriteTx, scope: Scope, sensor_id: SensorId, *, until_ms: int) -> None:
    """End a watch and its trace, unless it was prolonged meanwhile."""
    _everything(scope)
    ended = tx.run(
        delete(device_watch).where(device_watch.c.sensor_id == sensor_id, device_watch.c.until_ms == until_ms)
    )
    if ended:
        tx.run(delete(device_trace).where(device_trace.c.sensor_id == sensor_id))


def since(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, after: int, limit: int) -> list[Traced]:
    """The sensor's traced messages after the row number, in the order received."""
    _everything(scope)
    return [Traced(*row) for row in tx.hot(_SINCE, sensor_id, after, limit)]


def newest(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> int:
    """Row number of the sensor's newest traced message; 0 when there is none."""
    _everything(scope)
    return tx.hot(_NEWEST, sensor_id)[0][0] or 0


def session(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> Session | None:
    """The sensor's newest session, live or ended; None when it never had one."""
    _everything(scope)
    rows = tx.hot(_SESSION, sensor_id)
    return Session(bool(rows[0][0]), rows[0][1], rows[0][2]) if rows else None


def trips(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, limit: int) -> list[TripState]:
    """The sensor's newest trips, oldest first."""
    _everything(scope)
    return [TripState(*row) for row in tx.hot(_TRIPS, sensor_id, limit)][::-1]


def calls(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, limit: int) -> list[CallState]:
    """The newest calls to the sensor's device, oldest first."""
    _everything(scope)
    return [CallState(*row) for row in tx.hot(_CALLS, sensor_id, limit)][::-1]


def to_purge(tx: ReadTx, scope: Scope, *, now_ms: int, kept_ms: int) -> bool:
    """True if a watch has expired, or a trace is further away in time than `kept_ms`."""
    _everything(scope)
    first, last = ids.first_no(now_ms - kept_ms), ids.first_no(now_ms + kept_ms)
    return bool(tx.hot(_EXPIRED, now_ms, now_ms + LONGEST_MS) or tx.hot(_ANY_STALE, first, last))


def purge(tx: WriteTx, scope: Scope, *, now_ms: int, kept_ms: int) -> bool:
    """Delete expired watches and some stale traces; return True if there may be more."""
    _everything(scope)
    tx.run(delete(device_watch).where(_ENDED), {"now": now_ms, "beyond": now_ms + LONGEST_MS})
    stale = select(device_trace.c.no).where(_STALE).limit(PURGED_AT_ONCE)
    values = {"first": ids.first_no(now_ms - kept_ms), "last": ids.first_no(now_ms + kept_ms)}
    return tx.run(delete(device_trace).where(device_trace.c.no.in_(stale)), values) == PURGED_AT_ONCE


def forget(tx: WriteTx, sensor_id: SensorId) -> None:
    """Forget watch and trace of a sensor that is deleted."""
    for table in (device_watch, device_trace):
        tx.run(delete(table).where(table.c.sensor_id == bindparam("of_sensor")), {"of_sensor": sensor_id})


def rows_of(traces: Sequence[Trace], numbers: range) -> list[Any]:
    """The values of the traces as `TRACES` takes them, with their row numbers."""
    return [value for no, trace in zip(numbers, traces, strict=True) for value in (no, *trace)]


def _everything(scope: Scope) -> None:
    """A watch is the affair of who runs the installation."""
    assert Reach.ANY in scope.reaches
