"""Writes trips, microtrips, device events, attributes, and the scoring jobs they cause.

`Rows` collects one batch on the event loop; `write` executes it, and does nothing else in Python, so that the writer
thread leaves the interpreter to the loop.

Not here: reading the state before placing (`store/ingest/tracks.py`), reading for REST (`trips.py`), records from the
bus (`bus_trips.py`), the rejected-message log (`store/ingest/rejected.py`).
"""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    any_,
    bindparam,
    case,
    func,
    null,
    select,
    union_all,
    update,
)

from tripline.domain.access import Scope
from tripline.domain.ids import RowNo, SensorId, UserId, VehicleId
from tripline.domain.trips import LiveTrip
from tripline.store.bulk import Bulk
from tripline.store.ingest.deliveries import ENTRIES
from tripline.store.tables import (
    account,
    device_event,
    microtrip,
    push_outbox,
    rejected_message,
    scoring_job,
    sensor,
    sensor_attribute,
    trip,
    vehicle,
)
from tripline.store.transactions import Hot, ReadTx, WriteTx
from tripline.store.trips.bus_trips import BusTrip

MICROTRIPS: Final = Bulk(microtrip, "no", "trip_no", "id", "ts", "ty", "payload", "samples")
TRIPS: Final = Bulk(
    trip,
    *("no", "id", "created_ms", "company_id", "sensor_id", "vehicle_id", "user_id", "service_type", "device_type"),
    *("tid", "parking", "state", "start_ms", "end_ms", "closed_ms", "message_ty", "message_key", "distance_m"),
    *("payload", "not_scored", "last_ms", "until_ms"),
)
EVENTS: Final = Bulk(
    device_event,
    *("no", "id", "company_id", "sensor_id", "vehicle_id", "user_id", "trip_id", "device_type"),
    *("ty", "sent_ty", "ts", "event_ms", "tid", "lat", "lon", "payload"),
)
ATTRIBUTES: Final = Bulk(
    sensor_attribute,
    *("sensor_id", "name", "updated_ms", "payload"),
    on_conflict="ON CONFLICT (sensor_id, name) DO UPDATE SET updated_ms = excluded.updated_ms,"
    " payload = excluded.payload WHERE excluded.updated_ms >= sensor_attribute.updated_ms",
)
JOBS: Final = Bulk(
    scoring_job,
    *("trip_no", "due_ms"),
    on_conflict="ON CONFLICT (trip_no) DO UPDATE SET due_ms = excluded.due_ms, attempts = 0, last_error = NULL",
)

_END_TRIP: Final = (
    update(trip)
    .where(trip.c.no == bindparam("trip_no"))
    .values(
        {
            column: bindparam(column)
            for column in (
                *("state", "parking", "start_ms", "end_ms", "closed_ms"),
                *("message_ty", "message_key", "distance_m", "payload", "not_scored", "until_ms"),
            )
        }
        | {"last_ms": null()}
    )
)
_CHANGE_ENDED: Final = (
    update(trip)
    .where(trip.c.no == bindparam("trip_no"))
    .values(
        {
            column: bindparam(column)
            for column in ("tid", "device_type", "parking", "start_ms", "end_ms", "closed_ms", "not_scored")
        }
    )
)
_GROW_OPEN: Final = (
    update(trip)
    .where(trip.c.no == bindparam("trip_no"))
    .values(start_ms=bindparam("first_ms"), last_ms=bindparam("last_ms"))
)


def _latest(whose: Column[Any], before: Column[Any]) -> ColumnElement[Any]:
    """The id of the trip that began last, if a trip began or has another start now; else as before."""
    found = (
        select(trip.c.id)
        .where(whose == bindparam("key", type_=whose.type), trip.c.start_ms.is_not(None))
        .order_by(trip.c.start_ms.desc(), trip.c.no.desc())
        .limit(1)
        .scalar_subquery()
    )
    return case((bindparam("began", type_=Boolean), found), else_=before)


_TELL_VEHICLE: Final = (
    update(vehicle)
    .where(vehicle.c.id == bindparam("key"))
    .values(
        latest_trip_id=_latest(trip.c.vehicle_id, vehicle.c.latest_trip_id),
        last_trip_msg_type=func.coalesce(bindparam("kind"), vehicle.c.last_trip_msg_type),
    )
)
_TELL_SENSOR: Final = (
    update(sensor).where(sensor.c.id == bindparam("sensor_key")).values(last_trip_msg_type=bindparam("kind"))
)
_HASHED: Final = update(sensor).where(sensor.c.id == bindparam("sensor_key")).values(has_hashes=True)
_TELL_DRIVER: Final = (
    update(account)
    .where(account.c.id == bindparam("key"))
    .values(latest_trip_id=_latest(trip.c.user_id, account.c.latest_trip_id))
)
_DRIVEN_BY: Final = (
    update(device_event)
    .where(device_event.c.no == bindparam("event_no"))
    .values(user_id=select(trip.c.user_id).where(trip.c.id == device_event.c.trip_id).scalar_subquery())
)
_TID: Final = bindparam("of_tid", type_=BigInteger)
_ADOPT: Final = (
    update(device_event)
    .where(
        device_event.c.sensor_id == bindparam("of_sensor"),
        device_event.c.event_ms >= bindparam("from_ms"),
        device_event.c.event_ms <= bindparam("to_ms"),
        device_event.c.trip_id.is_(None),
        device_event.c.bus_key.is_(None),
        device_event.c.no < bindparam("before_no"),
        # A missing number fits any.
        func.coalesce(device_event.c.tid, _TID).is_not_distinct_from(func.coalesce(_TID, device_event.c.tid)),
    )
    .values(
        {
            column: select(trip.c[of]).where(trip.c.no == bindparam("trip_no")).scalar_subquery()
            for column, of in (("trip_id", "id"), ("vehicle_id", "vehicle_id"), ("user_id", "user_id"))
        }
    )
)
_HOLD: Final = Hot(
    select(trip.c.no)
    .where(trip.c.no == any_(bindparam("trip_nos", type_=ARRAY(BigInteger))))
    .order_by(trip.c.no)
    .with_for_update(key_share=True),
    "trip_nos",
)
_NEWEST: Final = Hot(
    union_all(
        *(
            select(func.max(table.c.no)).where(table.c.no < bindparam("before_no"))
            for table in (trip, microtrip, device_event, rejected_message, push_outbox)
        )
    ),
    "before_no",
)
_NO_BOUND: Final = 2**63 - 1


class AttributeKey(NamedTuple):
    """Which of a sensor's latest values."""

    sensor_id: SensorId
    name: str


class Attribute(NamedTuple):
    """One of the latest values."""

    updated_ms: int
    payload: bytes


class Heard(NamedTuple):
    """Changes of a vehicle's row."""

    began: bool
    """A trip of it began, or has another start now: which one is the latest?"""
    kind: str | None
    """Of its last message; None: as before."""


_NOTHING: Final = Heard(began=False, kind=None)


class Rows:
    """The rows of one batch. The lists for bulk inserts are flat: values one after the other."""

    __slots__ = ("adopting", "attributes", "drivers", "ended", "entries", "events", "grown_ended", "grown_open",
                 "hashed", "jobs", "late_events", "messages", "microtrips", "sensors", "trips", "vehicles")  # fmt: skip

    def __init__(self) -> None:
        self.microtrips: list[Any] = []
        self.trips: list[Any] = []
        self.events: list[Any] = []
        self.late_events: list[int] = []
        """Numbers of events of ended trips, whose driver may have been corrected."""
        self.adopting: dict[SensorId, list[dict[str, Any]]] = {}
        """Trips that take earlier events without a trip, after `ended`; those of a sensor in order."""
        self.entries: list[Any] = []
        """Index entries for microtrips and events."""
        self.jobs: dict[int, int] = {}
        """When each trip is due for scoring."""
        self.ended: list[dict[str, Any]] = []
        """Trips that end, after `trips`: one batch may open and end a trip."""
        self.messages = 0
        """How many trip messages were placed."""
        self.grown_open: dict[int, LiveTrip] = {}
        """Open trips with samples that are not the latest."""
        self.grown_ended: dict[int, tuple[LiveTrip, str | None]] = {}
        """Ended trips that got late samples, and the reasons against scoring them; after `ended`."""
        self.attributes: dict[AttributeKey, Attribute] = {}
        self.vehicles: dict[VehicleId, Heard] = {}
        self.sensors: dict[SensorId, str] = {}
        self.hashed: Collection[SensorId] = ()
        """Sensors with the first mark that has a hash."""
        self.drivers: set[UserId] = set()
        """Drivers of trips that began, or have another start now."""

    def tell_vehicle(self, vehicle_id: VehicleId, kind: str | None, *, began: bool) -> None:
        """A message of this kind is the vehicle's last one; `began`: its latest trip may be another one now."""
        before = self.vehicles.get(vehicle_id, _NOTHING)
        if kind is not None or before.began is not began:
            self.vehicles[vehicle_id] = Heard(began or before.began, kind or before.kind)

    def began(self, trip: LiveTrip | BusTrip) -> None:
        """The trip began, or has another start now: it may be the latest of its vehicle and driver, or no longer be."""
        if trip.vehicle_id is not None:
            self.tell_vehicle(trip.vehicle_id, None, began=True)
        if trip.user_id is not None:
            self.drivers.add(trip.user_id)

    def end(self, trip: LiveTrip, *, not_scored: str | None, **said: Any) -> None:
        """End the trip in its current state; `said` holds the fields of its trip message."""
        self.grown_ended.pop(trip.no, None)
        self.ended.append(
            {
                "trip_no": trip.no,
                "state": trip.state.value,
                "parking": trip.parking,
                "start_ms": trip.first_ms,
                "end_ms": trip.last_ms,
                "closed_ms": trip.closed_ms,
                "until_ms": trip.until_ms,
                "message_ty": None,
                "message_key": None,
                "distance_m": None,
                "payload": None,
                "not_scored": not_scored,
            }
            | said
        )

    def adopt_events(self, sensor_id: SensorId, trip: LiveTrip, gap_ms: int, before_no: RowNo) -> None:
        """Give the trip the sensor's events without a trip that are near it, may have its number and came before the
        row with this number."""
        to_ms = trip.last_ms + gap_ms
        adopting: dict[str, Any] = {
            "trip_no": trip.no,
            "of_sensor": sensor_id,
            "from_ms": trip.first_ms - gap_ms,
            "to_ms": to_ms if trip.until_ms is None else min(to_ms, trip.until_ms),
            "of_tid": trip.tid,
            "before_no": before_no,
        }
        of_sensor = self.adopting.setdefault(sensor_id, [])
        last = of_sensor[-1] if of_sensor else adopting
        if last["trip_no"] == trip.no and last["from_ms"] >= adopting["from_ms"] and last["to_ms"] <= adopting["to_ms"]:
            del of_sensor[-1:]  # the trip only grew since
        of_sensor.append(adopting)

    def set_attribute(self, sensor_id: SensorId, name: str, updated_ms: int, payload: bytes) -> None:
        """The newest value of an attribute."""
        key = AttributeKey(sensor_id, name)
        before = self.attributes.get(key)
        if before is None or updated_ms >= before.updated_ms:
            self.attributes[key] = Attribute(updated_ms, payload)


def write(tx: WriteTx, scope: Scope, rows: Rows) -> None:
    """Execute everything that was collected. The scope must be the pipeline's: every sensor's rows."""
    scope.require_everything()
    TRIPS.insert(tx, rows.trips)
    MICROTRIPS.insert(tx, rows.microtrips)
    EVENTS.insert(tx, rows.events)
    _each(tx, _DRIVEN_BY, [{"event_no": no} for no in rows.late_events])
    ENTRIES.insert(tx, rows.entries)
    ATTRIBUTES.insert(tx, [value for key, newest in sorted(rows.attributes.items()) for value in (*key, *newest)])
    # Rows shared with other writers are written in key order, which is the order of locks (docs/locks.md).
    if tx.shared:
        changed = {*rows.grown_open, *rows.grown_ended, *(ended["trip_no"] for ended in rows.ended)}
        if len(changed) > 1:
            tx.hot(_HOLD, sorted(changed))
    _each(
        tx,
        _GROW_OPEN,
        [{"trip_no": no, "first_ms": each.first_ms, "last_ms": each.last_ms} for no, each in rows.grown_open.items()],
    )
    _each(tx, _END_TRIP, rows.ended)
    _each(tx, _CHANGE_ENDED, [_changes(*grown) for grown in rows.grown_ended.values()])
    _each(tx, _ADOPT, [each for _, of_sensor in sorted(rows.adopting.items()) for each in of_sensor])
    JOBS.insert(tx, [value for job in sorted(rows.jobs.items()) for value in job])
    _each(tx, _TELL_VEHICLE, [{"key": key, **heard._asdict()} for key, heard in sorted(rows.vehicles.items())])
    _each(tx, _TELL_SENSOR, [{"sensor_key": key, "kind": kind} for key, kind in sorted(rows.sensors.items())])
    _each(tx, _HASHED, [{"sensor_key": key} for key in sorted(rows.hashed)])
    _each(tx, _TELL_DRIVER, [{"key": key, "began": True} for key in sorted(rows.drivers)])


def _changes(trip: LiveTrip, not_scored: str | None) -> dict[str, Any]:
    """Times and kind of an ended trip."""
    return {
        "trip_no": trip.no,
        "tid": trip.tid,
        "device_type": trip.device_type,
        "parking": trip.parking,
        "start_ms": trip.first_ms,
        "end_ms": trip.last_ms,
        "closed_ms": trip.closed_ms,
        "not_scored": not_scored,
    }


def newest_no(tx: ReadTx, scope: Scope, *, before_no: int | None = None) -> int:
    """The largest row number that batches gave (below the bound, when given); 0 when there is none."""
    scope.require_everything()
    return max(number or 0 for (number,) in tx.hot(_NEWEST, _NO_BOUND if before_no is None else before_no))


def _each(tx: WriteTx, statement: Any, values: list[dict[str, Any]]) -> None:
    if values:
        tx.run(statement, values)
