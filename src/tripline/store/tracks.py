"""What placing needs to know of a sensor before its next message, and whether a message was stored before.

All statements are hot: after a restart ten thousand sensors come back within seconds.

Not here: the cache of what was read (`services/ingest/tracks.py`), the writing (`driving.py`).
"""

import sys
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, CompoundSelect, bindparam, exists, func, literal_column, select, union_all

from tripline.domain import ids, trips
from tripline.domain.access import Reach, Scope
from tripline.domain.ids import CompanyId, RowNo, SensorId, TripId, UserId, VehicleId
from tripline.domain.samples import RECORD
from tripline.store import erasures
from tripline.store.tables import device_event, microtrip, sensor, trip, vehicle
from tripline.store.transactions import Hot, ReadTx

_LAST_MICROTRIPS: Final = 20
"""How many microtrips of an open trip are looked at for its latest sample: one is enough unless a box was just
delivering old ones."""
_NEVER_MS: Final = 253_402_300_800_000
"""The year 10000: nothing has ended since."""

_SENSOR: Final = Hot(
    select(
        sensor.c.company_id,
        sensor.c.service_type,
        sensor.c.type,
        sensor.c.vehicle_id,
        sensor.c.last_trip_msg_type,
        vehicle.c.current_driver_id,
    )
    .outerjoin(vehicle, vehicle.c.id == sensor.c.vehicle_id)
    .where(sensor.c.id == bindparam("sensor_id")),
    "sensor_id",
)


def _recent(*columns: ColumnElement[Any]) -> CompoundSelect[Any]:
    """Columns of the sensor's trips that are open or ended since the cutoff: two short ranges of `ix_trip_ended`."""
    chosen = select(*columns).where(trip.c.sensor_id == bindparam("sensor_id"))
    return union_all(chosen.where(trip.c.closed_ms.is_(None)), chosen.where(trip.c.closed_ms >= bindparam("cutoff_ms")))


_TRIPS: Final = Hot(
    _recent(
        trip.c.no,
        trip.c.id,
        trip.c.state,
        trip.c.tid,
        trip.c.device_type,
        trip.c.parking,
        trip.c.vehicle_id,
        trip.c.user_id,
        trip.c.start_ms,
        trip.c.end_ms,
        trip.c.closed_ms,
        select(func.max(microtrip.c.ts))
        .where(microtrip.c.trip_no == trip.c.no, microtrip.c.no >= bindparam("cutoff_no"))
        .scalar_subquery(),
        erasures.kept(trip.c.vehicle_id),
    ),
    *("sensor_id", "cutoff_ms", "cutoff_no"),
)
_SAMPLES: Final = Hot(
    select(microtrip.c.samples)
    .where(microtrip.c.trip_no == bindparam("trip_no"))
    .order_by(microtrip.c.no.desc())
    .limit(_LAST_MICROTRIPS),
    "trip_no",
)
_MICROTRIP_STORED: Final = Hot(
    select(microtrip.c.no)
    .where(
        microtrip.c.trip_no.in_(_recent(trip.c.no)),
        microtrip.c.no >= bindparam("cutoff_no"),
        microtrip.c.ts.is_not_distinct_from(bindparam("ts")),
        microtrip.c.payload == bindparam("payload"),
    )
    .limit(1),
    *("sensor_id", "cutoff_ms", "cutoff_no", "ts", "payload"),
)
_EVENT_STORED: Final = Hot(
    select(device_event.c.no)
    .where(
        device_event.c.sensor_id == bindparam("sensor_id"),
        device_event.c.no >= bindparam("cutoff_no"),
        device_event.c.ty == bindparam("ty"),
        device_event.c.ts.is_not_distinct_from(bindparam("ts")),
        device_event.c.payload == bindparam("payload"),
    )
    .limit(1),
    *("sensor_id", "cutoff_no", "ty", "ts", "payload"),
)
_MESSAGE_STORED: Final = Hot(
    select(trip.c.no)
    .where(
        trip.c.sensor_id == bindparam("sensor_id"),
        trip.c.message_key == bindparam("message_key"),
        # The sum keeps SQLite on `ix_trip_message`: the instant is 0 for most messages and narrows nothing down.
        trip.c.closed_ms + 0 >= bindparam("cutoff_ms"),
    )
    .limit(1),
    *("sensor_id", "message_key", "cutoff_ms"),
)
_SILENT: Final = Hot(
    select(trip.c.sensor_id, trip.c.no)
    .where(
        trip.c.state == literal_column(f"'{trips.State.OPEN}'"),
        trip.c.no < bindparam("cutoff_no"),
        ~exists().where(microtrip.c.trip_no == trip.c.no, microtrip.c.no >= bindparam("cutoff_no")),
    )
    .order_by(trip.c.no)
    .limit(bindparam("limit")),
    *("cutoff_no", "limit"),
)


@dataclass(frozen=True, slots=True)
class Known:
    """A sensor as its rows describe it."""

    company_id: CompanyId
    service_type: str
    sensor_type: str
    vehicle_id: VehicleId | None
    last_trip_msg_type: str | None
    driver_id: UserId | None
    """Who drives the vehicle now."""
    trips: list[trips.LiveTrip]
    """The open one and those that ended since the cutoff, in the order opened; not those of a deleted vehicle."""
    newest_ts: int | None
    """Largest header `ts` of the microtrips stored since the cutoff."""


def load(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, since_ms: int) -> Known | None:
    """What is known of a sensor, with its trips and microtrips since the instant; None when there is no such sensor."""
    _everything(scope)
    found = tx.hot(_SENSOR, sensor_id)
    if not found:
        return None
    # Interned: ten thousand sensors share a few of these, and a trip those of its sensor.
    company_id, service_type, sensor_type, vehicle_id, kind, driver_id = map(_interned, found[0])
    rows = sorted(tx.hot(_TRIPS, sensor_id, since_ms, ids.first_no(since_ms)))
    newest = [row[11] for row in rows if row[11] is not None]
    return Known(
        company_id=company_id,
        service_type=service_type,
        sensor_type=sensor_type,
        vehicle_id=vehicle_id,
        last_trip_msg_type=kind,
        driver_id=driver_id,
        trips=[_live(tx, row) for row in rows if row[12]],
        newest_ts=max(newest, default=None),
    )


def open_trips(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> list[trips.LiveTrip]:
    """The sensor's open trips, also when the sensor itself is no more."""
    _everything(scope)
    rows = tx.hot(_TRIPS, sensor_id, _NEVER_MS, ids.first_no(_NEVER_MS))
    return [_live(tx, row) for row in sorted(rows) if row[12]]


def _interned(value: Any) -> Any:
    return sys.intern(value) if isinstance(value, str) else value


def _live(tx: ReadTx, row: tuple[object, ...]) -> trips.LiveTrip:
    no, trip_id, state, tid, device_type, parking, vehicle_id, user_id, start_ms, end_ms, closed_ms = map(
        _interned, row[:11]
    )
    assert isinstance(no, int) and isinstance(start_ms, int)
    last_ms = end_ms if isinstance(end_ms, int) else _latest_sample(tx, no, default=start_ms)
    return trips.LiveTrip(
        RowNo(no),
        TripId(str(trip_id)),
        state=trips.State(str(state)),
        tid=tid if isinstance(tid, int) else None,
        device_type=str(device_type),
        parking=bool(parking),
        vehicle_id=None if vehicle_id is None else VehicleId(str(vehicle_id)),
        user_id=None if user_id is None else UserId(str(user_id)),
        first_ms=start_ms,
        last_ms=last_ms,
        closed_ms=closed_ms if isinstance(closed_ms, int) else None,
    )


def _latest_sample(tx: ReadTx, trip_no: int, *, default: int) -> int:
    return max(
        (record[0] for (packed,) in tx.hot(_SAMPLES, trip_no) for record in RECORD.iter_unpack(packed)),
        default=default,
    )


def microtrip_stored(
    tx: ReadTx, scope: Scope, sensor_id: SensorId, *, ts: int | None, payload: bytes, since_ms: int
) -> bool:
    """Whether an equal microtrip was stored since the instant (O3)."""
    _everything(scope)
    return bool(tx.hot(_MICROTRIP_STORED, sensor_id, since_ms, ids.first_no(since_ms), ts, payload))


def event_stored(
    tx: ReadTx, scope: Scope, sensor_id: SensorId, *, ty: int, ts: int | None, payload: bytes, since_ms: int
) -> bool:
    """Whether an equal event was stored since the instant."""
    _everything(scope)
    return bool(tx.hot(_EVENT_STORED, sensor_id, ids.first_no(since_ms), ty, ts, payload))


def message_stored(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, message_key: str, since_ms: int) -> bool:
    """Whether a trip that ended since the instant has this trip message (I3)."""
    _everything(scope)
    return bool(tx.hot(_MESSAGE_STORED, sensor_id, message_key, since_ms))


def silent(tx: ReadTx, scope: Scope, *, since_ms: int, limit: int) -> list[tuple[SensorId, RowNo]]:
    """Open trips that got no microtrip since the instant, oldest first: sensor and row number (I1)."""
    _everything(scope)
    return [(SensorId(sensor_id), RowNo(no)) for sensor_id, no in tx.hot(_SILENT, ids.first_no(since_ms), limit)]


def _everything(scope: Scope) -> None:
    assert Reach.ANY in scope.reaches, "the pipeline works on every sensor"
