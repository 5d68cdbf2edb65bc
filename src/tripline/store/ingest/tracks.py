"""The state of a sensor for placing its next message, and a check for stored trip messages.

All statements are hot: after a restart ten thousand sensors return within seconds. On a shared database one statement
reads all of them.

Not here: the cache of this state (`services/ingest/tracks.py`), the writing (`store/trips/batch_rows.py`).
"""

import sys
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

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

from tripline.domain import deliveries, ids, trips
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId, UserId, VehicleId
from tripline.domain.samples import RECORD
from tripline.store.erasure import erasures
from tripline.store.ingest import mountings
from tripline.store.tables import device_event, microtrip, sensor, trip, vehicle
from tripline.store.transactions import Hot, ReadTx

_LAST_MICROTRIPS: Final = 20
"""Number of an open trip's newest microtrips searched for its latest sample: one is enough unless a box has just
delivered old ones."""
MOST_LATELY: Final = 5_000
"""Number of a trip's microtrips searched for the largest header time."""
UNKNOWN_TS: Final = 2**63 - 1
"""The bound of header times for a sensor with more microtrips than that: any message may be a redelivery."""
_DEVICE: Final = "device"
"""`trip.source` of trips that are placed here."""
_NEWEST: Final = 17
"""Position of a row's newest header time."""
_OF: Final = 16
"""Position of its sensor."""
MOST: Final = 64
"""Most ended trips of a sensor read at once."""
_NEVER_MS: Final = 253_402_300_800_000
"""The year 10000: nothing has ended since."""

_ONE: Final[ColumnElement[Any]] = bindparam("sensor_id")
_ANY: Final = any_(bindparam("sensor_ids", type_=ARRAY(String)))


_NEWEST_NO: Final = (
    select(select(func.max(microtrip.c.no)).where(microtrip.c.trip_no == trip.c.no).scalar_subquery().label("no"))
    .where(trip.c.sensor_id == sensor.c.id, trip.c.closed_ms.is_(None))
    .correlate(sensor)
    .subquery("newest")
)
_NEWEST_OPEN: Final = select(func.max(_NEWEST_NO.c.no)).scalar_subquery()
"""Number of the newest microtrip of a sensor's open trips."""
_LAST_CHANGED: Final = select(func.max(trip.c.closed_ms)).where(trip.c.sensor_id == sensor.c.id).scalar_subquery()
"""When a trip of a sensor ended last, or an ended one got samples."""


_HAS_EARLY_EVENTS: Final = exists().where(
    device_event.c.sensor_id == sensor.c.id,
    # True of all, and keeps SQLite on `ix_device_event_early`.
    device_event.c.event_ms > literal_column("0"),
    device_event.c.trip_id.is_(None),
    device_event.c.bus_key.is_(None),
)


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
            _LAST_CHANGED,
            _NEWEST_OPEN,
            _HAS_EARLY_EVENTS,
            *mountings.CHANGED_MS,
            sensor.c.erased_ms,
            sensor.c.has_hashes,
        )
        .outerjoin(vehicle, vehicle.c.id == sensor.c.vehicle_id)
        .where(sensor.c.id == which)
    )


def _recent(*columns: ColumnElement[Any], which: ColumnElement[Any] = _ONE) -> CompoundSelect[Any]:
    """Columns of the sensors' trips that are open or changed since the cutoff: two short ranges of `ix_trip_ended`."""
    chosen = select(*columns).where(trip.c.sensor_id == which)
    return union_all(chosen.where(trip.c.closed_ms.is_(None)), chosen.where(trip.c.closed_ms >= bindparam("cutoff_ms")))


def _ended(*columns: ColumnElement[Any], which: ColumnElement[Any], since: ColumnElement[Any]) -> Select[Any]:
    """Columns of one sensor's ended trips whose end is not before the instant: a range of `ix_trip_sensor_end`."""
    return (
        select(*columns)
        .where(
            trip.c.sensor_id == which,
            trip.c.end_ms >= since,
            trip.c.closed_ms.is_not(None),
            trip.c.source == literal_column(f"'{_DEVICE}'"),
        )
        .limit(literal_column(str(MOST)))
    )


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
_IS_BARE: Final = and_(
    trip.c.state == literal_column(f"'{trips.State.COMPLETE}'"), ~exists().where(microtrip.c.trip_no == trip.c.no)
)
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
    func.coalesce(trip.c.end_ms, trip.c.last_ms),
    trip.c.closed_ms,
    trip.c.until_ms,
    trip.c.message_key,
    _IS_BARE,
    erasures.kept(trip.c.vehicle_id),
    trip.c.source,
    trip.c.sensor_id,
)
_SINCE: Final[ColumnElement[Any]] = bindparam("since_ms", type_=BigInteger)
_SENSOR: Final = Hot(_sensors(_ONE), "sensor_id")
_SENSORS: Final = Hot(_sensors(_ANY), "sensor_ids")
_TRIPS: Final = Hot(_recent(*_TRIP, _NEWEST_TS), "sensor_id", "cutoff_ms", "cutoff_no")
_TRIPS_OF_ALL: Final = Hot(_recent(*_TRIP, _NEWEST_TS, which=_ANY), "sensor_ids", "cutoff_ms", "cutoff_no")
_SPAN: Final = (
    func.unnest(bindparam("sensor_ids", type_=ARRAY(String)), bindparam("sinces_ms", type_=ARRAY(BigInteger)))
    .table_valued("sensor_id", "since_ms", name="span")
    .render_derived()
)
_ENDED: Final = _ended(*_TRIP, which=_ONE, since=_SINCE)
_ENDED_OF_SPAN: Final = _ended(*_TRIP, which=_SPAN.c.sensor_id, since=_SPAN.c.since_ms).correlate(_SPAN)


class _Ended(NamedTuple):
    """Statements that read ended trips: of one sensor, and of many on a shared database."""

    one: Hot
    many: Hot


def _in_order(order: ColumnElement[Any]) -> _Ended:
    near = _ENDED_OF_SPAN.order_by(order).lateral("near")
    return _Ended(
        Hot(_ENDED.order_by(order), "sensor_id", "since_ms"),
        Hot(select(near).select_from(_SPAN).join(near, true()), "sensor_ids", "sinces_ms"),
    )


_LAST: Final = _in_order(trip.c.end_ms.desc())
_NEXT: Final = _in_order(trip.c.end_ms)
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
    """The open trip and the latest ended ones, in the order opened; excludes deleted vehicles' trips."""
    has_early_events: bool
    """It has events without a trip."""
    changed_ms: int
    """When its vehicle or the driver of its vehicle changed last; 0: unknown."""
    has_hashes: bool
    """Some of its microtrips have a mark with a hash though they have a header time."""
    newest_ts: int
    """Upper bound of the plausible header times of its microtrips."""


class Span(NamedTuple):
    """A span of a sensor's time."""

    sensor_id: SensorId
    first_ms: int
    last_ms: int


def load(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, since_ms: int) -> Known | None:
    """As `load_all`, for one sensor; None if it does not exist."""
    return load_all(tx, scope, [sensor_id], since_ms=since_ms, known_ms=since_ms).get(sensor_id)


def load_all(
    tx: ReadTx, scope: Scope, sensor_ids: Sequence[SensorId], *, since_ms: int, known_ms: int
) -> dict[SensorId, Known]:
    """Load the state of each existing sensor, with the header times stored since `since_ms`, its open trip and the
    trips whose end is not before `known_ms`, up to `MOST`."""
    scope.require_everything()
    since_no = ids.first_no(since_ms)
    if tx.shared:
        wanted = list(sensor_ids)
        found = tx.hot(_SENSORS, wanted)
        driven = tx.hot(_TRIPS_OF_ALL, wanted, since_ms, since_no) if found else []
    else:
        found = [row for sensor_id in sensor_ids for row in tx.hot(_SENSOR, sensor_id)]
        driven = [row for sensor in found for row in tx.hot(_TRIPS, sensor[0], since_ms, since_no)]
    ended = _ended_since(tx, _LAST, [Span(SensorId(row[0]), known_ms, known_ms) for row in found])
    newest: dict[SensorId, int] = {}
    for row in driven:
        if row[_NEWEST] is not None:
            newest[row[_OF]] = max(newest.get(row[_OF], row[_NEWEST]), row[_NEWEST])
    trips_of: dict[SensorId, list[trips.LiveTrip]] = {}
    changed = [row for row in driven if row[10] is None or row[9] >= known_ms]
    for each in _lives(tx, [*changed, *ended]):
        trips_of.setdefault(each.sensor_id, []).append(each.trip)
    return {row[0]: _known(row, trips_of.get(row[0], []), newest.get(row[0], -1), since_ms) for row in found}


def _largest_before(since_ms: int, changed_ms: int | None, newest_no: int | None) -> int:
    """Upper bound of the plausible header times of rows stored before the instant. No row is newer than the last change
    of its sensor's trips."""
    stored_ms = max(changed_ms or 0, 0 if newest_no is None else ids.ms_of_no(newest_no))
    return min(since_ms, stored_ms) + deliveries.AHEAD_MS if stored_ms else -1


def near(tx: ReadTx, scope: Scope, spans: Sequence[Span]) -> list["Driven"]:
    """Ended trips that overlap one of these spans, in the order opened."""
    scope.require_everything()
    until: dict[SensorId, int] = {}
    for span in spans:
        until[span.sensor_id] = max(until.get(span.sensor_id, span.last_ms), span.last_ms)
    return _lives(tx, [row for row in _ended_since(tx, _NEXT, spans) if row[8] <= until[row[_OF]]])


def _ended_since(tx: ReadTx, statements: _Ended, spans: Sequence[Span]) -> list[tuple[Any, ...]]:
    """Rows of the trips that end in these spans or later, up to `MOST` of each."""
    if not tx.shared:
        return [row for span in spans for row in tx.hot(statements.one, span.sensor_id, span.first_ms)]
    if not spans:
        return []
    return tx.hot(statements.many, [span.sensor_id for span in spans], [span.first_ms for span in spans])


class Driven(NamedTuple):
    """A trip and its sensor."""

    sensor_id: SensorId
    trip: trips.LiveTrip


def _lives(tx: ReadTx, rows: Iterable[tuple[Any, ...]]) -> list[Driven]:
    """The devices' trips in these rows, each once, in the order opened."""
    once = {row[0]: row for row in rows if row[14] and row[15] == _DEVICE}
    latest = _latest_samples(tx, [row[0] for row in once.values() if row[10] is None])
    return [Driven(SensorId(row[_OF]), _live(row, latest)) for _, row in sorted(once.items())]


def _known(row: tuple[Any, ...], driven: list[trips.LiveTrip], newest_ts: int, since_ms: int) -> Known:
    # Interned, because ten thousand sensors share few of these strings, and trips share their sensor's.
    company_id, service_type, sensor_type, vehicle_id, kind, driver_id = map(_interned, row[1:7])
    ended_ms, newest_no, has_early_events, mounted_ms, driven_ms, erased_ms, has_hashes = row[7:]
    erased_ts = -1 if erased_ms is None else erased_ms + deliveries.AHEAD_MS
    return Known(
        company_id=company_id,
        service_type=service_type,
        sensor_type=sensor_type,
        vehicle_id=vehicle_id,
        last_trip_msg_type=kind,
        driver_id=driver_id,
        trips=driven,
        has_early_events=bool(has_early_events),
        changed_ms=max(mounted_ms, driven_ms),
        has_hashes=bool(has_hashes),
        newest_ts=max(newest_ts, _largest_before(since_ms, ended_ms, newest_no), erased_ts),
    )


def open_trips(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> list[trips.LiveTrip]:
    """The sensor's open trips, even if the sensor has been deleted."""
    scope.require_everything()
    rows = [row for row in tx.hot(_TRIPS, sensor_id, _NEVER_MS, ids.first_no(_NEVER_MS)) if row[14]]
    latest = _latest_samples(tx, [row[0] for row in rows])
    return [_live(row, latest) for row in sorted(rows, key=itemgetter(0))]


def _interned(value: Any) -> Any:
    return sys.intern(value) if isinstance(value, str) else value


def _live(row: tuple[Any, ...], latest: dict[int, int]) -> trips.LiveTrip:
    no, trip_id, state, tid, device_type, parking, vehicle_id, user_id = map(_interned, row[:8])
    start_ms, end_ms, closed_ms, until_ms, message_key, is_bare = row[8:14]
    if start_ms is None:
        start_ms = ids.ms_of_no(no)  # a trip over the bus that only an event has named
    said = trips.said_times(message_key or "")
    return trips.LiveTrip(
        no,
        trip_id,
        state=trips.State(state),
        tid=tid,
        device_type=device_type,
        parking=bool(parking),
        vehicle_id=vehicle_id,
        user_id=user_id,
        first_ms=start_ms,
        last_ms=max(start_ms if end_ms is None else end_ms, latest.get(no, 0)),
        closed_ms=closed_ms,
        until_ms=until_ms,
        is_bare=bool(is_bare),
        # Of a broken drive's last piece, the message's start is not the piece's.
        start_said=said.start_ms == start_ms,
        end_said=said.end_ms is not None,
    )


def _latest_samples(tx: ReadTx, trip_nos: Collection[int]) -> dict[int, int]:
    """The instant of the latest sample of each of these trips that has any."""
    found: Iterable[tuple[Any, ...]]
    if not trip_nos:
        return {}
    if tx.shared:
        first_no = ids.first_no(ids.ms_of_no(min(trip_nos)) - deliveries.CLOCKS_APART_MS)
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
    scope.require_everything()
    return bool(tx.hot(_MESSAGE_STORED, sensor_id, message_key, since_ms))


def silent(
    tx: ReadTx, scope: Scope, *, since_ms: int, limit: int, node_id: str | None = None, patience_ms: int = 0
) -> list[SensorId]:
    """Sensors of open trips without a microtrip since the instant, the oldest first (I1).

    With `node_id`, only sensors that this node or no node tracks, and those whose node exceeded `patience_ms` as well.
    """
    scope.require_everything()
    since_no = ids.first_no(since_ms)
    if node_id is None:
        found = tx.hot(_SILENT, since_no, limit)
    else:
        found = tx.hot(_SILENT_OF_NODE, since_no, ids.first_no(since_ms - patience_ms), node_id, limit)
    return [SensorId(sensor_id) for sensor_id, _ in found]


def still_silent(tx: ReadTx, scope: Scope, sensor_ids: Collection[SensorId], *, since_ms: int) -> set[SensorId]:
    """The sensors, out of these, whose open trip got no microtrip since the instant."""
    scope.require_everything()
    since_no = ids.first_no(since_ms)
    if tx.shared:
        return {row[0] for row in tx.hot(_STILL_SILENT, list(sensor_ids), since_no)}
    return {sensor_id for sensor_id in sensor_ids if tx.hot(_ONE_STILL_SILENT, sensor_id, since_no)}
