"""The pipeline's memory of each sensor between messages; authoritative while the process runs.

One small object a sensor (about 1 KiB with its open trip), loaded at the sensor's first message, forgotten when
something outside the pipeline changes the sensor or a batch could not be stored. It is authoritative because every
batch checks, inside its transaction, for changes by others: on our own database by other processes' commits, on a
shared one by the sensors' claims (`store/ingest/claims.py`).

Not here: the queries (`store/ingest/tracks.py`), placing readings (`placement.py`).
"""

from collections.abc import Container, Iterable, Sequence
from typing import Final

from tripline.domain import deliveries
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId, UserId, VehicleId
from tripline.domain.trips import LiveTrip, State
from tripline.services.batch_tries import Stale
from tripline.store.ingest import claims
from tripline.store.ingest import tracks as rows
from tripline.store.ingest.claims import Facts
from tripline.store.transactions import ReadTx, Store, WriteTx

SCOPE: Final = Scope.everything("take in what devices send")
ENDED_KEPT: Final = 32
"""Most trips of one sensor, ended without a message, that a late message may complete. Otherwise a box that changes its
number with every message would fill the memory."""
_INLINE: Final = 4
"""Most sensors read on the event loop; more are read in a thread."""
_FUTURE_MS: Final = 300_000
"""No sample time is further ahead of its receipt (spec/device-messages T2)."""


class Track:
    """A sensor and its trips."""

    __slots__ = ("company_id", "driver_id", "ended", "key", "kind", "marked_ms", "new_ms", "newest_ms",
                 "newest_ts", "sensor_id", "sensor_type", "service_type", "trip", "used_ms", "vehicle_id")  # fmt: skip

    def __init__(self, sensor_id: SensorId, known: rows.Known, *, now_ms: int) -> None:
        self.sensor_id = sensor_id
        self.key = deliveries.key_of(sensor_id)
        """Mark of the first microtrip at each header time."""
        self.company_id: CompanyId = known.company_id
        self.service_type = known.service_type
        self.sensor_type = known.sensor_type
        self.vehicle_id: VehicleId | None = known.vehicle_id
        self.driver_id: UserId | None = known.driver_id
        self.kind = known.last_trip_msg_type
        """Last kind of trip message written to sensor and vehicle."""
        self.trip: LiveTrip | None = next((trip for trip in known.trips if trip.state is State.OPEN), None)
        """The open trip."""
        self.ended: Sequence[LiveTrip] = tuple(trip for trip in known.trips if trip.state is State.LAPSED)[-ENDED_KEPT:]
        """Recent trips that ended without a trip message, oldest first."""
        self.newest_ts = -1 if known.newest_ts is None else known.newest_ts
        """Largest header `ts` stored recently: a larger one is not a redelivery (O3)."""
        self.marked_ms = -1 if known.newest_ts is None else now_ms
        """Upper bound of when the latest microtrip with a header time and its own mark was stored."""
        self.new_ms = -1
        """Instant of the latest batch with a microtrip that is new by its times alone."""
        self.newest_ms = now_ms + _FUTURE_MS
        """Upper bound of the sample times stored recently; used if `newest_ts` does not decide."""
        self.used_ms = now_ms

    @property
    def facts(self) -> Facts:
        """Fields that others may change."""
        return Facts(self.company_id, self.sensor_type, self.vehicle_id, self.driver_id)

    @property
    def remounted(self) -> bool:
        """True if the open trip belongs to a vehicle other than the sensor's current one."""
        return self.trip is not None and self.trip.vehicle_id != self.vehicle_id

    def names(self, owners: Container[str | None]) -> bool:
        """True if the sensor is one of the owners, or its next rows may refer to one of these vehicles or drivers."""
        trips = self.ended if self.trip is None else (*self.ended, self.trip)
        driver_ids = (self.driver_id, self.trip and self.trip.user_id)
        named = (self.sensor_id, self.vehicle_id, *driver_ids, *(trip.vehicle_id for trip in trips))
        return any(owner in owners for owner in named)

    def lapse(self, trip: LiveTrip, *, since_ms: int) -> None:
        """Record a trip that ended without a message; drop trips too old for a late message."""
        kept = [old for old in self.ended if old.closed_ms is not None and old.closed_ms > since_ms]
        self.ended = (*kept, trip)[-ENDED_KEPT:]


class Tracks:
    """The tracks of every recently active sensor."""

    def __init__(self, store: Store, *, memory_ms: float, node_id: str) -> None:
        """`memory_ms`: how long an ended trip or a stored microtrip can still matter (I2, O3). `node_id`: the unique
        name under which this process claims sensors."""
        self._store = store
        self._memory_ms = memory_ms
        self._node_id = node_id
        self._tracks: dict[SensorId, Track] = {}
        self._foreign_commits = store.foreign_commits
        """The store's commit number when the oldest track was read."""

    def __len__(self) -> int:
        return len(self._tracks)

    def get(self, sensor_id: SensorId) -> Track | None:
        """The track, if it has been loaded and the sensor exists."""
        return self._tracks.get(sensor_id)

    async def read(self, sensor_ids: Iterable[SensorId], *, now_ms: int) -> list[Track]:
        """Load the missing tracks and return them. Raises `Outage`."""
        missing = [sensor_id for sensor_id in sensor_ids if sensor_id not in self._tracks]
        if not missing:
            return []
        # Only with an empty memory: the number belongs to the oldest track, and reveals commits since then.
        if not self._tracks:
            self._foreign_commits = self._store.foreign_commits
        read = [Track(key, known, now_ms=now_ms) for key, known in (await self._load(missing, now_ms)).items()]
        for track in read:
            self._tracks[track.sensor_id] = track
        return read

    async def _load(self, sensor_ids: Sequence[SensorId], now_ms: int) -> dict[SensorId, rows.Known]:
        since_ms = int(now_ms - self._memory_ms)

        def load(tx: ReadTx) -> dict[SensorId, rows.Known]:
            return rows.load_all(tx, SCOPE, sensor_ids, since_ms=since_ms)

        def claim_and_load(tx: WriteTx) -> dict[SensorId, rows.Known]:
            claims.claim(tx, SCOPE, sensor_ids, node_id=self._node_id)
            return load(tx)

        if self._store.shared:
            return await self._store.write(claim_and_load, locked=True)
        return await (self._store.read_short if len(sensor_ids) <= _INLINE else self._store.read)(load)

    def check(self, tx: WriteTx, sensor_ids: Iterable[SensorId]) -> None:
        """Begin a batch's transaction: raises `Stale` if the tracks of these sensors are outdated. On a shared database
        the sensors are locked until the commit."""
        if not tx.shared:
            if self._store.foreign_commits != self._foreign_commits:
                raise Stale
            return
        claims.enter(tx, SCOPE)
        known = (self._tracks.get(sensor_id) for sensor_id in sensor_ids)
        remembered = {track.sensor_id: track.facts for track in known if track is not None}
        if remembered and claims.changed(tx, SCOPE, remembered, node_id=self._node_id):
            raise Stale

    def forget(self, sensor_ids: Iterable[SensorId]) -> None:
        """Reload these sensors at their next message."""
        for sensor_id in sensor_ids:
            self._tracks.pop(sensor_id, None)

    def forget_deleted(self, owners: Container[str | None]) -> None:
        """Reload sensors that were deleted, or that refer to a deleted vehicle or driver."""
        self.forget([key for key, track in self._tracks.items() if track.names(owners)])

    def forget_all(self) -> None:
        """Reload every sensor."""
        self._tracks.clear()

    def forget_idle(self, *, before_ms: int) -> None:
        """Drop tracks without an open trip that were not used since the instant."""
        self.forget([key for key, track in self._tracks.items() if track.trip is None and track.used_ms < before_ms])
