"""Trips identified by a customer's `tripId`: find, lock, create, change, and list the silent ones; and writing the
microtrips and device events from the bus.

Not here: their lifecycle (`services/bus/placement.py`), the trips of devices (`store/ingest/tracks.py`,
`batch_rows.py`).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Table, bindparam, exists, literal_column, select, update

from tripline.domain import bus, ids
from tripline.domain.access import Scope
from tripline.domain.bus import Span
from tripline.domain.ids import CompanyId, RowNo, SensorId, TripId, UserId, VehicleId
from tripline.domain.samples import RECORD
from tripline.domain.trips import State
from tripline.store.bulk import Bulk
from tripline.store.erasure import erasures
from tripline.store.tables import device_event, microtrip, scoring_job, trip
from tripline.store.transactions import Hot, ReadTx, WriteTx
from tripline.store.trips import drivers

_KEPT: Final = (
    *("no", "id", "company_id", "sensor_id", "vehicle_id", "user_id", "device_type", "parking", "state", "start_ms"),
    *("end_ms", "closed_ms", "message_ty", "message_key", "distance_m", "payload", "not_scored", "envelope", "source"),
    *("recorded_user_id", "corrected_ms"),
)
_CHANGED: Final = tuple(
    name for name in _KEPT if name not in ("no", "id", "company_id", "sensor_id", "source", "corrected_ms")
)


MICROTRIPS: Final = Bulk(microtrip, "no", "trip_no", "id", "ts", "ty", "payload", "samples", "bus_key", "envelope")
EVENTS: Final = Bulk(
    device_event,
    *("no", "id", "company_id", "sensor_id", "vehicle_id", "user_id", "trip_id", "device_type"),
    *("ty", "sent_ty", "ts", "event_ms", "lat", "lon", "payload", "bus_key", "envelope"),
)


class BusTrip:
    """A trip's row, locked. Set `changed` after changing it."""

    __slots__ = (*_KEPT, "changed", "erased", "is_new")

    no: RowNo
    id: TripId
    company_id: CompanyId
    sensor_id: SensorId | None
    vehicle_id: VehicleId | None
    user_id: UserId | None
    device_type: str
    parking: bool
    state: str
    start_ms: int | None
    """Earliest sample time while open; None: no sample yet."""
    end_ms: int | None
    closed_ms: int | None
    message_ty: int | None
    message_key: str | None
    """`domain.bus.Span` as text."""
    distance_m: float | None
    payload: bytes | None
    not_scored: str | None
    envelope: bytes | None
    source: str
    recorded_user_id: UserId | None
    """The driver that its messages name, while a correction is in force."""
    corrected_ms: int | None
    """When its driver was corrected; None: no correction is in force."""

    def __init__(self, row: Sequence[Any], *, erased: bool = False, is_new: bool = False) -> None:
        for name, value in zip(_KEPT, row, strict=True):
            setattr(self, name, value)
        self.parking = bool(self.parking)
        self.changed = False
        self.erased = erased
        """True if its vehicle is deleted."""
        self.is_new = is_new

    @property
    def live(self) -> State:
        """Where it is in its life."""
        return State(self.state)


def lock(tx: WriteTx, scope: Scope, trip_ids: Collection[str]) -> dict[str, BusTrip]:
    """The trips among the ids, whosever they are, locked in the order of their numbers."""
    scope.require_everything()
    return {row.id: BusTrip(row[: len(_KEPT)], erased=not row.is_kept) for row in tx.all_among(trip_ids, _TRIPS)}


def make(tx: WriteTx, scope: Scope, values: list[Any]) -> None:
    """Make open trips, in the order of `NEW`; those whose id is taken meanwhile are left as they are."""
    scope.require_everything()
    NEW.insert(tx, values)


def jobs(tx: WriteTx, scope: Scope, nos: Collection[int]) -> dict[int, int]:
    """When each of the trips that wait for the scorer is due, locked."""
    scope.require_everything()
    return {row[0]: row[1] for row in tx.all_among(nos, _JOBS)}


def change(tx: WriteTx, scope: Scope, trips: Collection[BusTrip]) -> None:
    """Write the changed trips."""
    scope.require_everything()
    values = [
        {"trip_no": each.no, **{name: getattr(each, name) for name in _CHANGED}} for each in trips if each.changed
    ]
    if values:
        tx.run(_CHANGE, values)


def bounds(tx: ReadTx, scope: Scope, trip_no: int) -> Span | None:
    """The earliest and the latest sample time of a trip, when it has samples."""
    scope.require_everything()
    times = [record[0] for (packed,) in tx.hot(_SAMPLES, trip_no) for record in RECORD.iter_unpack(packed)]
    return Span(min(times), max(times)) if times else None


def silent(tx: ReadTx, scope: Scope, *, since_ms: int, limit: int) -> list[str]:
    """Ids of open trips without a message since the instant, oldest first."""
    scope.require_everything()
    return [row[0] for row in tx.hot(_SILENT, ids.first_no(since_ms), limit)]


NEW: Final = Bulk(
    trip,
    *("no", "id", "created_ms", "company_id", "sensor_id", "vehicle_id", "user_id", "service_type", "device_type"),
    *("parking", "state", "source"),
    on_conflict="ON CONFLICT (id) DO NOTHING",
)
_WANTED: Final[Any] = bindparam("among", expanding=True)
_TRIPS: Final = (
    select(*(trip.c[name] for name in _KEPT), erasures.kept(trip.c.vehicle_id).label("is_kept"))
    .where(trip.c.id.in_(_WANTED))
    .order_by(trip.c.no)
    .with_for_update(of=trip)
)
_JOBS: Final = (
    select(scoring_job.c.trip_no, scoring_job.c.due_ms)
    .where(scoring_job.c.trip_no.in_(_WANTED))
    .order_by(scoring_job.c.trip_no)
    .with_for_update()
)
_CHANGE: Final = (
    update(trip).where(trip.c.no == bindparam("trip_no")).values({name: bindparam(name) for name in _CHANGED})
)
_SAMPLES: Final = Hot(select(microtrip.c.samples).where(microtrip.c.trip_no == bindparam("trip_no")), "trip_no")
_SILENT: Final = Hot(
    select(trip.c.id)
    .where(
        trip.c.state == literal_column(f"'{State.OPEN}'"),
        trip.c.source == literal_column(f"'{bus.SOURCE}'"),
        trip.c.no < bindparam("cutoff_no"),
        ~exists().where(microtrip.c.trip_no == trip.c.no, microtrip.c.no >= bindparam("cutoff_no")),
        erasures.kept(trip.c.vehicle_id),
    )
    .order_by(trip.c.no)
    .limit(bindparam("limit")),
    "cutoff_no",
    "limit",
)


def microtrips(tx: ReadTx, scope: Scope, keys: Collection[int], *, since_no: int) -> dict[int, list[bytes]]:
    """Payloads of the stored microtrips with these keys, from `since_no` on."""
    return _stored(tx, scope, microtrip, keys, since_no)


def events(tx: ReadTx, scope: Scope, keys: Collection[int]) -> dict[int, list[bytes]]:
    """The payloads of the stored events with these keys."""
    return _stored(tx, scope, device_event, keys, None)


def driven_by(tx: WriteTx, scope: Scope, driven: Mapping[int, UserId | None]) -> None:
    """Update the drivers of these trips' scores and events, by trip number, from their latest messages."""
    scope.require_everything()
    if driven:
        drivers.renamed(tx, dict(driven))


def _stored(
    tx: ReadTx, scope: Scope, table: Table, keys: Collection[int], since_no: int | None
) -> dict[int, list[bytes]]:
    scope.require_everything()
    statement = select(table.c.bus_key, table.c.payload).where(table.c.bus_key.in_(bindparam("among", expanding=True)))
    if since_no is not None and tx.shared:
        statement = statement.where(table.c.no >= since_no)  # spares the partitions of earlier weeks
    found: dict[int, list[bytes]] = {}
    for key, payload in tx.all_among(keys, statement):
        found.setdefault(key, []).append(bytes(payload))
    return found
