"""The state of a sensor for placing its next message, and a check for stored trip messages.

All statements are hot: after a restart ten thousand sensors return within seconds. On a shared database one statement
reads all of them.

Not here: the cache of this state (`services/ingest/tracks.py`), the writing (`store/trips/batch_rows.py`).
"""

import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Select,
    String,
    and_,
    any_,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
)

from tripline.domain import ids, trips
from tripline.domain.access import Reach, Scope
from tripline.domain.ids import CompanyId, RowNo, SensorId, TripId, UserId, VehicleId
from tripline.domain.samples import RECORD
from tripline.store.erasure import erasures
from tripline.store.tables import microtrip, sensor, trip, vehicle
from tripline.store.transactions import Hot, ReadTx

_LAST_MICROTRIPS: Final = 20
"""Number of an open trip's newest microtrips searched for its latest sample: one is enough unless a box has just
delivered old ones."""
MOST_LATELY: Final = 5_000
"""Number of a trip's microtrips searched for the largest header time."""
UNKNOWN_TS: Final = 2**63 - 1
"""No header time is larger: of a sensor with more than that, every message may have come before."""
_DEVICE: Final = "device"
"""`trip.source` of trips that are placed here."""
_MARGIN_MS: Final = 3_600_000
"""No two processes' clocks are further apart."""
_NEVER_MS: Final = 253_402_300_800_000
"""The year 10000: nothing has ended since."""

_ONE: Final[ColumnElement[Any]] = bindparam("sensor_id")
_ANY: Final = any_(bindparam("sensor_ids", type_=ARRAY(String)))


def _sensors(which: ColumnElement[Any]) -> Select[Any]:
    return (
        select(
            sensor.c.id,
            sensor.c.company_id,
            sensor.c.service_type,
            sensor.c.type,
            sensor.c.vehicle_id,
            sensor.c.last_trip_msg_type,
            vehicle.c.current_driver_id,
        )
        .outerjoin(vehicle, vehicle.c.id == sensor.c.vehicle_id)
        .where(sensor.c.id == which)
    )


def _recent(*columns: ColumnElement[Any], which: ColumnElement[Any] = _ONE) -> CompoundSelect[Any]:
    """Columns of the sensors' trips that are open or ended since the cutoff: two short ranges of `ix_trip_ended`."""
    chosen = select(*columns).where(trip.c.sensor_id == which)
    return union_all(chosen.where(trip.c.closed_ms.is_(None)), chosen.where(trip.c.closed_ms >= bindparam("cutoff_ms")))


_LATELY: Final = (
    select(microtrip.c.ts)
    .where(microtrip.c.trip_no == trip.c.no, microtrip.c.no >= bindparam("cutoff_no"))
    .order_by(microtrip.c.no.desc())
    .limit(literal_column(str(MOST_LATELY + 1)))
    .correlate(trip)
    .subquery("lately")
)
_NEWEST_TS: Final = select(
    case((func.count() > MOST_LATELY, literal_column(str(UNKNOWN_TS))), else_=func.max(_LATELY.c.ts))
).scalar_subquery()
_TRIP: Final = (
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
    _NEWEST_TS,
    erasures.kept(trip.c.vehicle_id),
    trip.c.source,
    trip.c.sensor_id,
)
_SENSOR: Final = Hot(_sensors(_ONE), "sensor_id")
_SENSORS: Final = Hot(_sensors(_ANY), "sensor_ids")
_TRIPS: Final = Hot(_recent(*_TRIP), "sensor_id", "cutoff_ms", "cutoff_no")
_TRIPS_OF_ALL: Final = Hot(_recent(*_TRIP, which=_ANY), "sensor_ids", "cutoff_ms", "cutoff_no")
_SAMPLES: Final = Hot(
    select(microtrip.c.samples)
    .where(microtrip.c.trip_no == bindparam("trip_no"))
    .order_by(microtrip.c.no.desc())
    .limit(_LAST_MICROTRIPS),
    "trip_no",
)
_OPEN: Final = (
    func.unnest(bindparam("trip_nos", type_=ARRAY(BigInteger))).table_valued("no", name="opened").render_derived()
)
_LATEST: Final = (
    select(microtrip.c.samples)
    # The second bound keeps old partitions out; another process's clock may be a little behind.
    .where(microtrip.c.trip_no == _OPEN.c.no, microtrip.c.no >= bindparam("first_no"))
    .order_by(microtrip.c.no.desc())
    .limit(_LAST_MICROTRIPS)
    .lateral("latest")
)
_SAMPLES_OF_ALL: Final = Hot(
    select(_OPEN.c.no, _LATEST.c.samples).select_from(_OPEN).join(_LATEST, true()), "trip_nos", "first_no"
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


def _silent_since(instant: str) -> tuple[ColumnElement[bool], ...]:
    return (
        trip.c.state == literal_column(f"'{trips.State.OPEN}'"),
        trip.c.source == literal_column(f"'{_DEVICE}'"),
        trip.c.no < bindparam(instant),
        ~exists().where(microtrip.c.trip_no == trip.c.no, microtrip.c.no >= bindparam(instant)),
    )


_SILENT: Final = Hot(
    select(trip.c.sensor_id, trip.c.no)
    .where(*_silent_since("cutoff_no"))
    .order_by(trip.c.no)
    .limit(bindparam("limit")),
    "cutoff_no",
    "limit",
)
_SILENT_OF_NODE: Final = Hot(
    select(trip.c.sensor_id, trip.c.no)
    .join(sensor, sensor.c.id == trip.c.sensor_id)
    .where(
        *_silent_since("cutoff_no"),
        or_(
            sensor.c.ingest_node == bindparam("node"),
            sensor.c.ingest_node.is_(None),
            and_(*_silent_since("orphaned_no")),
        ),
    )
    .order_by(trip.c.no)
    .limit(bindparam("limit")),
    *("cutoff_no", "orphaned_no", "node", "limit"),
)
_STILL_SILENT: Final = Hot(
    select(trip.c.sensor_id).where(trip.c.sensor_id == _ANY, *_silent_since("cutoff_no")), "sensor_ids", "cutoff_no"
)
_ONE_STILL_SILENT: Final = Hot(
    select(trip.c.sensor_id).where(trip.c.sensor_id == bindparam("sensor_id"), *_silent_since("cutoff_no")),
    "sensor_id",
    "cutoff_no",
)
"""For a database without lists."""


class Known(msgspec.Struct, frozen=True):
    """A sensor as its rows describe it."""

    company_id: CompanyId
    service_type: str
    sensor_type: str
    vehicle_id: VehicleId | None
    last_trip_msg_type: str | None
    driver_id: UserId | None
    """Who drives the vehicle now."""
    trips: list[trips.LiveTrip]
    """The open trip and those ended since the cutoff, in the order opened; excludes deleted vehicles' trips."""
    newest_ts: int | None
    """No header `ts` of the microtrips stored since the cutoff is larger."""


def load(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, since_ms: int) -> Known | None:
    """As `load_all`, for one sensor; None if it does not exist."""
    return load_all(tx, scope, [sensor_id], since_ms=since_ms).get(sensor_id)


def load_all(tx: ReadTx, scope: Scope, sensor_ids: Sequence[SensorId], *, since_ms: int) -> dict[SensorId, Known]:
    """Load the state of each existing sensor, with its trips and microtrips since the instant."""
    _everything(scope)
    since_no = ids.first_no(since_ms)
    if tx.shared:
        wanted = list(sensor_ids)
        found = tx.hot(_SENSORS, wanted)
        driven = tx.hot(_TRIPS_OF_ALL, wanted, since_ms, since_no) if found else []
    else:
        found = [row for sensor_id in sensor_ids for row in tx.hot(_SENSOR, sensor_id)]
        driven = [row for sensor in found for row in tx.hot(_TRIPS, sensor[0], since_ms, since_no)]
    rows = [row for row in sorted(driven, key=_number) if row[12] and row[13] == _DEVICE]
    latest = _latest_samples(tx, [row[0] for row in rows if row[9] is None])
    trips_of: dict[SensorId, list[trips.LiveTrip]] = {}
    newest: dict[SensorId, int] = {}
    for row in driven:
        if row[11] is not None:
            newest[row[14]] = max(newest.get(row[14], row[11]), row[11])
    for row in rows:
        trips_of.setdefault(row[14], []).append(_live(row, latest))
    return {row[0]: _known(row, trips_of.get(row[0], []), newest.get(row[0])) for row in found}


def _known(row: tuple[Any, ...], driven: list[trips.LiveTrip], newest_ts: int | None) -> Known:
    # Interned, because ten thousand sensors share few of these strings, and trips share their sensor's.
    company_id, service_type, sensor_type, vehicle_id, kind, driver_id = map(_interned, row[1:])
    return Known(
        company_id=company_id,
        service_type=service_type,
        sensor_type=sensor_type,
        vehicle_id=vehicle_id,
        last_trip_msg_type=kind,
        driver_id=driver_id,
        trips=driven,
        newest_ts=newest_ts,
    )


def open_trips(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> list[trips.LiveTrip]:
    """The sensor's open trips, even if the sensor has been deleted."""
    _everything(scope)
    rows = [row for row in tx.hot(_TRIPS, sensor_id, _NEVER_MS, ids.first_no(_NEVER_MS)) if row[12]]
    latest = _latest_samples(tx, [row[0] for row in rows if row[9] is None])
    return [_live(row, latest) for row in sorted(rows, key=_number)]


def _number(row: tuple[Any, ...]) -> int:
    number: int = row[0]
    return number


def _interned(value: Any) -> Any:
    return sys.intern(value) if isinstance(value, str) else value


def _live(row: tuple[object, ...], latest: dict[int, int]) -> trips.LiveTrip:
    no, trip_id, state, tid, device_type, parking, vehicle_id, user_id, start_ms, end_ms, closed_ms = map(
        _interned, row[:11]
    )
    assert isinstance(no, int)
    if not isinstance(start_ms, int):
        start_ms = ids.ms_of_no(no)  # a trip over the bus that only an event has named
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
        last_ms=end_ms if isinstance(end_ms, int) else latest.get(no, start_ms),
        closed_ms=closed_ms if isinstance(closed_ms, int) else None,
    )


def _latest_samples(tx: ReadTx, trip_nos: Collection[int]) -> dict[int, int]:
    """The instant of the latest sample of each of these trips that has any."""
    found: Iterable[tuple[Any, ...]]
    if not trip_nos:
        return {}
    if tx.shared:
        first_no = ids.first_no(ids.ms_of_no(min(trip_nos)) - _MARGIN_MS)
        found = tx.hot(_SAMPLES_OF_ALL, list(trip_nos), first_no)
    else:
        found = ((no, packed) for no in trip_nos for (packed,) in tx.hot(_SAMPLES, no))
    latest: dict[int, int] = {}
    for no, packed in found:
        last_ms = max((record[0] for record in RECORD.iter_unpack(packed)), default=None)
        if last_ms is not None:
            latest[no] = max(latest.get(no, last_ms), last_ms)
    return latest


def message_stored(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, message_key: str, since_ms: int) -> bool:
    """True if a trip that ended since the instant has this trip message (I3)."""
    _everything(scope)
    return bool(tx.hot(_MESSAGE_STORED, sensor_id, message_key, since_ms))


def silent(
    tx: ReadTx, scope: Scope, *, since_ms: int, limit: int, node_id: str | None = None, patience_ms: int = 0
) -> list[SensorId]:
    """Sensors of open trips without a microtrip since the instant, the oldest first (I1).

    With `node_id`, only sensors that this node or no node tracks, and those whose node exceeded `patience_ms` as well.
    """
    _everything(scope)
    since_no = ids.first_no(since_ms)
    if node_id is None:
        found = tx.hot(_SILENT, since_no, limit)
    else:
        found = tx.hot(_SILENT_OF_NODE, since_no, ids.first_no(since_ms - patience_ms), node_id, limit)
    return [SensorId(sensor_id) for sensor_id, _ in found]


def still_silent(tx: ReadTx, scope: Scope, sensor_ids: Collection[SensorId], *, since_ms: int) -> set[SensorId]:
    """The sensors, out of these, whose open trip got no microtrip since the instant."""
    _everything(scope)
    since_no = ids.first_no(since_ms)
    if tx.shared:
        return {row[0] for row in tx.hot(_STILL_SILENT, list(sensor_ids), since_no)}
    return {sensor_id for sensor_id in sensor_ids if tx.hot(_ONE_STILL_SILENT, sensor_id, since_no)}


def _everything(scope: Scope) -> None:
    assert Reach.ANY in scope.reaches, "the pipeline works on every sensor"
