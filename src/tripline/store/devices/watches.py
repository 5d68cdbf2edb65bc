"""Devices watched with `tripline device check`, and the traces of their messages.

A watch expires by itself (`until_ms`); its trace covers only the last minutes.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, bindparam, delete, exists, func, or_, select

from tripline.domain import ids
from tripline.domain.access import Scope
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
_WATCHES: Final = Bulk(device_watch, "sensor_id", "until_ms", replaces=True)
_ALL: Final = Hot(
    select(device_watch.c.sensor_id, device_watch.c.until_ms).where(device_watch.c.until_ms > bindparam("now")), "now"
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
    scope.require_everything()
    return dict(tx.hot(_ALL, now_ms))


def watch(tx: WriteTx, scope: Scope, sensor_id: SensorId, *, until_ms: int) -> None:
    """Watch the sensor until the instant."""
    scope.require_everything()
    _WATCHES.insert(tx, [sensor_id, until_ms])


def end(tx: WriteTx, scope: Scope, sensor_id: SensorId, *, until_ms: int) -> None:
    """End a watch and its trace, unless it was prolonged meanwhile."""
    scope.require_everything()
    ended = tx.run(
        delete(device_watch).where(device_watch.c.sensor_id == sensor_id, device_watch.c.until_ms == until_ms)
    )
    if ended:
        tx.run(delete(device_trace).where(device_trace.c.sensor_id == sensor_id))


def since(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, after: int, limit: int) -> list[Traced]:
    """The sensor's traced messages after the row number, in the order received."""
    scope.require_everything()
    row = device_trace.c
    traced = select(row.no, row.topic, row.outcome, row.body).where(row.sensor_id == sensor_id, row.no > after)
    return [Traced(*each) for each in tx.all(traced.order_by(row.no).limit(limit))]


def newest(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> int:
    """Row number of the sensor's newest traced message; 0 when there is none."""
    scope.require_everything()
    return tx.all(select(func.max(device_trace.c.no)).where(device_trace.c.sensor_id == sensor_id))[0][0] or 0


def session(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> Session | None:
    """The sensor's newest session, live or ended; None when it never had one."""
    scope.require_everything()
    row = device_connection.c
    found = tx.one(select(row.connected, row.changed_ms, row.reason).where(row.sensor_id == sensor_id))
    return None if found is None else Session(*found)


def trips(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, limit: int) -> list[TripState]:
    """The sensor's newest trips, oldest first."""
    scope.require_everything()
    row = trip.c
    newest_first = (
        select(row.no, row.id, row.tid, row.state, row.not_scored, driving_score.c.score, row.quality)
        .outerjoin(driving_score, driving_score.c.trip_no == row.no)
        .where(row.sensor_id == sensor_id)
        .order_by(row.no.desc())
    )
    return [TripState(*each) for each in tx.all(newest_first.limit(limit))][::-1]


def calls(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, limit: int) -> list[CallState]:
    """The newest calls to the sensor's device, oldest first."""
    scope.require_everything()
    row = rpc_call.c
    of_sensor = select(row.no, row.id, row.method, row.state, row.result_code).where(row.sensor_id == sensor_id)
    return [CallState(*each) for each in tx.all(of_sensor.order_by(row.no.desc()).limit(limit))][::-1]


def _ended(now_ms: int) -> ColumnElement[bool]:
    """Condition for watches that have expired, or are from before the clock was set back."""
    return or_(device_watch.c.until_ms <= now_ms, device_watch.c.until_ms > now_ms + LONGEST_MS)


def _stale(now_ms: int, kept_ms: int) -> ColumnElement[bool]:
    return or_(device_trace.c.no < ids.first_no(now_ms - kept_ms), device_trace.c.no > ids.first_no(now_ms + kept_ms))


def to_purge(tx: ReadTx, scope: Scope, *, now_ms: int, kept_ms: int) -> bool:
    """True if a watch has expired, or a trace is further away in time than `kept_ms`."""
    scope.require_everything()
    expired = exists().where(_ended(now_ms))
    return bool(tx.all(select(or_(expired, exists().where(_stale(now_ms, kept_ms)))))[0][0])


def purge(tx: WriteTx, scope: Scope, *, now_ms: int, kept_ms: int) -> bool:
    """Delete expired watches and some stale traces; return True if there may be more."""
    scope.require_everything()
    tx.run(delete(device_watch).where(_ended(now_ms)))
    stale = select(device_trace.c.no).where(_stale(now_ms, kept_ms)).limit(PURGED_AT_ONCE)
    return tx.run(delete(device_trace).where(device_trace.c.no.in_(stale))) == PURGED_AT_ONCE


def forget(tx: WriteTx, sensor_id: SensorId) -> None:
    """Forget watch and trace of a sensor that is deleted."""
    for table in (device_watch, device_trace):
        tx.run(delete(table).where(table.c.sensor_id == sensor_id))


def rows_of(traces: Sequence[Trace], numbers: range) -> list[Any]:
    """The values of the traces as `TRACES` takes them, with their row numbers."""
    return [value for no, trace in zip(numbers, traces, strict=True) for value in (no, *trace)]
