"""The pipeline's memory of each sensor between messages; authoritative while the process runs.

One small object a sensor (about 1 KiB with its open trip), loaded at the sensor's first message, forgotten when
something outside the pipeline changes the sensor or a batch could not be stored. It is authoritative because every
batch checks, inside its transaction, for changes by others: on our own database by other processes' commits, on a
shared one by the sensors' claims (`store/ingest/claims.py`).
"""

import uuid
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from tripline.config import Ingest
from tripline.domain import deliveries
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId, UserId, VehicleId
from tripline.domain.instants import MINUTE_MS
from tripline.domain.mountings import Past
from tripline.domain.trips import LiveTrip, State
from tripline.services.batch_tries import Stale
from tripline.store.ingest import claims, mountings
from tripline.store.ingest import tracks as rows
from tripline.store.ingest.claims import Facts
from tripline.store.ingest.tracks import Span
from tripline.store.transactions import ReadTx, Store, WriteTx

SCOPE: Final = Scope.everything("take in what devices send")
TRIPS_KEPT: Final = 64
"""Most trips of one sensor in memory. Otherwise a box that changes its number with every message would fill it."""
UNSETTLED_KEPT: Final = 32
"""Most of them without a trip message."""
_INLINE: Final = 4
"""Most sensors read on the event loop; more are read in a thread."""
_KNOWN_GAPS: Final = 4
"""A sensor's trips are read with it that ended up to this many gaps ago."""
_AROUND_GAPS: Final = 2
"""Older trips are read this many gaps around the message that needs them."""
_ENDED_AT_ONCE: Final = 500
"""Most silent trips found at once; the rest follow in the next sweep."""
_PATIENCE_MS: Final = 15_000
"""Extra time before another process may end the trips of a sensor."""
_END: Final = attrgetter("last_ms")
_NUMBER: Final = attrgetter("no")


class Time(NamedTuple):
    """The time of a sensor's message, which decides its trip."""

    track: "Track"
    first_ms: int
    last_ms: int


class Track:
    """A sensor and its trips."""

    __slots__ = ("changed_ms", "company_id", "driver_id", "gap_ms", "has_early_events", "has_hashes", "key", "kind",
                 "known_ms", "near_ms", "new_ms", "newest_ms", "newest_ts", "older", "sensor_id", "sensor_type",
                 "service_type", "since_ms", "sure_ms", "trip", "trips", "until_ms", "used_ms",
                 "vehicle_id")  # fmt: skip

    def __init__(self, sensor_id: SensorId, known: rows.Known, *, now_ms: int, gap_ms: int) -> None:
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
        self.trips = known.trips
        """The open trip and ended ones near it in time, in the order opened."""
        self.changed_ms = known.changed_ms
        """Vehicle and driver are the present ones since then."""
        self.gap_ms = gap_ms
        self._know(now_ms - _KNOWN_GAPS * gap_ms)
        self.sure_ms = 0
        """Every known trip except the open one ended before this instant."""
        self.measure()
        self.has_early_events = known.has_early_events
        """True if events without a trip may be stored; a trip that begins or grows adopts them."""
        self.has_hashes = known.has_hashes
        """Some of its microtrips have a mark with a hash though they have a header time."""
        self.newest_ts = known.newest_ts
        """Upper bound of the plausible header times that are stored: a message with a later one is new (O3)."""
        self.new_ms = -1
        """Instant of the latest batch with a microtrip that is new by its times alone."""
        self.newest_ms = now_ms + deliveries.AHEAD_MS
        """Upper bound of the stored sample times; used if `newest_ts` does not decide."""
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
        driver_ids = (self.driver_id, *(trip.user_id for trip in self.trips))
        named = (self.sensor_id, self.vehicle_id, *driver_ids, *(trip.vehicle_id for trip in self.trips))
        return any(owner in owners for owner in named)

    def add(self, trip: LiveTrip, *, now_ms: int) -> None:
        """Add a trip that begins; if there are too many, forget the ended one that ended earliest. If that was lately,
        a box changes its number with every message, and nothing is read again."""
        ended = [each for each in self.trips if each is not self.trip]
        unsettled = [each for each in ended if not each.is_settled]
        is_crowded = not trip.is_settled and len(unsettled) >= UNSETTLED_KEPT
        if is_crowded or len(ended) >= TRIPS_KEPT:
            forgotten = min(unsettled if is_crowded else ended, key=_END)
            self.trips.remove(forgotten)
            if forgotten.last_ms < now_ms - 2 * self.gap_ms:
                self._know(max(self.known_ms, forgotten.last_ms + 1))
        self.trips = sorted((*self.trips, trip), key=_NUMBER)
        self.measure()

    def _know(self, since_ms: int) -> None:
        """Note that every trip that ended since the instant is in `trips`, and not every earlier one."""
        self.known_ms = since_ms
        self.since_ms = max(since_ms + self.gap_ms, self.changed_ms)
        """Later messages need no more than the known trips and the present vehicle. Nearly all are later."""
        self.older: Sequence[Span] = ()
        """Earlier spans, around the last old messages, whose trips are all in `trips`."""
        self.near_ms = self.until_ms = 0
        """Messages between these instants, in one of the older spans, need nothing more either."""

    def add_older(self, trips: Iterable[LiveTrip], spans: Sequence[Span]) -> None:
        """Add the trips of these earlier spans, and forget the trips of other such spans."""
        self.older = spans
        known = {trip.no: trip for trip in trips} | {trip.no: trip for trip in self.trips}
        self.trips = [
            trip
            for _, trip in sorted(known.items())
            if trip is self.trip
            or trip.last_ms >= self.known_ms
            or any(span.first_ms <= trip.last_ms and trip.first_ms <= span.last_ms for span in spans)
        ]
        self.measure()

    def measure(self) -> None:
        """Note when the latest of the ended trips ended, after a change of one."""
        self.sure_ms = max((trip.last_ms + 1 for trip in self.trips if trip is not self.trip), default=0)


class Tracks:
    """The tracks of every recently active sensor."""

    def __init__(self, store: Store, settings: Ingest) -> None:
        self._store = store
        self._gap_ms = round(settings.trip_gap_minutes * MINUTE_MS)
        self._memory_ms = round(settings.redelivery_minutes * MINUTE_MS)
        self._node_id = str(uuid.uuid4())
        """The unique name under which this process claims sensors."""
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
        found = await self._load(missing, now_ms)
        read = [Track(key, known, now_ms=now_ms, gap_ms=self._gap_ms) for key, known in found.items()]
        for track in read:
            self._tracks[track.sensor_id] = track
        return read

    async def read_older(self, times: Iterable[Time]) -> Mapping[Track, Past]:
        """Load the trips near these times, if they are too old for memory; of a sensor all times of a batch, or none.
        Return the changes of the sensors that have a time before their last change. Raises `Outage`."""
        gap_ms, around_ms = self._gap_ms, _AROUND_GAPS * self._gap_ms
        spans: dict[Track, dict[Span, None]] = {}
        changed: dict[Track, None] = {}
        for track, first_ms, last_ms in times:
            if first_ms < track.changed_ms:
                changed[track] = None
            low, high = first_ms - gap_ms, last_ms + gap_ms
            if low >= track.known_ms:
                continue
            mine = spans.setdefault(track, {})
            for span in (*mine, *track.older):
                if span.first_ms <= low and high <= span.last_ms:
                    break
            else:
                # One read serves the messages around and the next ones.
                span = Span(track.sensor_id, low - around_ms, high + around_ms)
            mine[span] = None
        await self._read_spans(spans)
        for track, mine in spans.items():
            *_, near = mine
            track.near_ms, track.until_ms = max(near.first_ms + gap_ms, track.changed_ms), near.last_ms - gap_ms
        if not changed:
            return {}
        return await self._store.read(
            lambda tx: {each: mountings.past(tx, SCOPE, each.sensor_id, each.vehicle_id) for each in changed}
        )

    async def _read_spans(self, spans: Mapping[Track, Mapping[Span, None]]) -> None:
        wanted = [span for track, mine in spans.items() for span in mine if span not in track.older]
        if not wanted:
            return
        open_one = self._store.read_short if len(wanted) <= _INLINE else self._store.read
        found: dict[SensorId, list[LiveTrip]] = {}
        for sensor_id, trip in await open_one(lambda tx: rows.near(tx, SCOPE, wanted)):
            found.setdefault(sensor_id, []).append(trip)
        for track, mine in spans.items():
            track.add_older(found.get(track.sensor_id, ()), tuple(mine))

    async def _load(self, sensor_ids: Sequence[SensorId], now_ms: int) -> dict[SensorId, rows.Known]:
        since_ms, known_ms = now_ms - self._memory_ms, now_ms - _KNOWN_GAPS * self._gap_ms

        def load(tx: ReadTx) -> dict[SensorId, rows.Known]:
            return rows.load_all(tx, SCOPE, sensor_ids, since_ms=since_ms, known_ms=known_ms)

        def claim_and_load(tx: WriteTx) -> dict[SensorId, rows.Known]:
            claims.claim(tx, SCOPE, sensor_ids, node_id=self._node_id)
            return load(tx)

        if self._store.shared:
            return await self._store.write(claim_and_load, locked=True)
        return await (self._store.read_short if len(sensor_ids) <= _INLINE else self._store.read)(load)

    async def silent(self, *, now_ms: int) -> list[SensorId]:
        """Sensors whose open trip got no microtrip for longer than the gap, by the platform's clock (I1, H8).

        They are found in the rows, so the result is the same after a restart. On a shared store any process may end
        their trips: first the one that tracks the sensor, and if it is gone, another. Raises `Outage`.
        """
        since_ms, node_id = now_ms - self._gap_ms, self._node_id if self._store.shared else None
        limits = {"limit": _ENDED_AT_ONCE, "patience_ms": _PATIENCE_MS}
        return await self._store.read(lambda tx: rows.silent(tx, SCOPE, since_ms=since_ms, node_id=node_id, **limits))

    async def still_silent(self, silent: Collection[SensorId], *, now_ms: int) -> Collection[SensorId]:
        """Return the sensors that are still silent: a message may have been stored since the sweep. Call it between
        batches and, on a shared store, with the sensors claimed. Raises `Outage`."""
        if not silent:
            return silent
        since_ms = now_ms - self._gap_ms
        return await self._store.read(lambda tx: rows.still_silent(tx, SCOPE, silent, since_ms=since_ms))

    def check(self, tx: WriteTx, sensor_ids: Iterable[SensorId], pasts: Mapping[Track, Past]) -> None:
        """Begin a batch's transaction: raises `Stale` if the tracks of these sensors, or their changes, are outdated.
        On a shared database the sensors are locked until the commit."""
        if not tx.shared:
            if self._store.foreign_commits != self._foreign_commits:
                raise Stale
            return
        claims.enter(tx, SCOPE)
        known = (self._tracks.get(sensor_id) for sensor_id in sensor_ids)
        remembered = {track.sensor_id: track.facts for track in known if track is not None}
        if remembered and claims.changed(tx, SCOPE, remembered, node_id=self._node_id):
            raise Stale
        # Since this batch is under way, an eraser waits for it.
        if any(mountings.past(tx, SCOPE, each.sensor_id, each.vehicle_id) != past for each, past in pasts.items()):
            raise Stale

    def forget(self, sensor_ids: Iterable[SensorId]) -> None:
        """Reload these sensors at their next message."""
        for sensor_id in sensor_ids:
            self._tracks.pop(sensor_id, None)

    def forget_deleted(self, owners: Container[str | None]) -> None:
        """Reload sensors that were deleted, or that refer to a deleted vehicle or driver."""
        self.forget([key for key, track in self._tracks.items() if track.names(owners)])

    def forget_all(self) -> None:
        self._tracks.clear()

    def forget_idle(self, *, before_ms: int) -> None:
        """Drop tracks without an open trip that were not used since the instant."""
        self.forget([key for key, track in self._tracks.items() if track.trip is None and track.used_ms < before_ms])
