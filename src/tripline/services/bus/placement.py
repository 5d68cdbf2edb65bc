"""Place customers' messages: find the trip of each, change that trip, and build the rows.

Nothing here waits or reads, except the bounds of a trip whose message has no times; a batch is placed against its
locked rows (`LockedState`), in the order of its messages.

Not here: reading (`wire/bus/reader.py`), looking up rows (`batches.py`), trips of devices (`services/ingest/`).
"""

import collections
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from tripline.domain import bus, ids, trips
from tripline.domain.bus import Span
from tripline.domain.ids import RowNo, TimeIds, UserId, VehicleId
from tripline.domain.mountings import Owner
from tripline.domain.trips import Cause, State
from tripline.services.bus.messages import Message, Read, Record, Refused
from tripline.services.push.notices import Subject
from tripline.store.bus.facts import Facts, Sensor
from tripline.store.trips.batch_rows import Rows
from tripline.store.trips.bus_trips import BusTrip
from tripline.wire.bus import fields as bus_fields
from tripline.wire.bus import payloads as bus_payloads
from tripline.wire.bus import reasons as bus_reasons
from tripline.wire.bus.reader import Opened
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Trip


class LockedState(msgspec.Struct, frozen=True):
    """The rows that were loaded and locked for a batch."""

    facts: Facts
    trips: Mapping[str, BusTrip]
    jobs: Mapping[int, int]
    """Due times of trips that wait for the scorer."""
    microtrips: dict[int, list[bytes]]
    """Number of a stored record -> payloads; the batch adds its own."""
    events: dict[int, list[bytes]]
    bounds: Callable[[int], Span | None]
    """Earliest and latest stored sample of a trip."""


class _RecordKeys(NamedTuple):
    no: RowNo
    id: str
    key: int
    """Identifies it when it is delivered again."""


class Admitted(msgspec.Struct, frozen=True):
    """A message whose sensor belongs to its sender."""

    read: Read
    sensor: Sensor

    @property
    def trip_id(self) -> str | None:
        """The trip that it names, unless it only has latest values."""
        records = self.read.records
        takes_part = any(not isinstance(record.reading, LatestValues) for record in records)
        return self.read.opened.trip_id if takes_part else None

    @property
    def is_before_change(self) -> bool:
        """True if its sensor was on another vehicle since, or its vehicle had another driver."""
        return self._first_ms < max(self.sensor.mounted_ms, self.sensor.driven_ms)

    def owner(self, facts: Facts) -> Owner:
        """Vehicle and driver at its time, as for devices (gaps H9); without a vehicle of the sensor, the one that the
        message names, if it belongs to the same company (4.16)."""
        past = facts.pasts.get(self.sensor.id)
        if past is not None and (owner := past.owner(self._first_ms)).vehicle_id is not None:
            return owner
        vehicle_id = self.sensor.vehicle_id if past is None else None
        said = self.read.opened.vehicle_id
        if vehicle_id is None and said in facts.vehicles and facts.vehicles[said].company_id == self.sensor.company_id:
            vehicle_id = VehicleId(said)
        return Owner(vehicle_id, _driver(facts, vehicle_id))

    @property
    def _first_ms(self) -> float:
        return min((_time_of(record.reading) for record in self.read.records), default=math.inf)


class StoredReading(NamedTuple):
    """A stored reading, for pushes and positions."""

    subject: Subject
    reading: Microtrip | Trip | DeviceEvent


def admitted(reads: Iterable[Read], sensors: Mapping[str, Sensor], refused: list[Refused]) -> list[Admitted]:
    """Messages whose sensor is registered and belongs to the company of the message and its topic (4.17)."""
    found = []
    for read in reads:
        message, sensor = read.message, sensors.get(read.opened.sensor_id)
        if sensor is None:
            refused.append(Refused.of(message, bus_reasons.UNKNOWN_SENSOR))
        elif is_foreign(message, read.opened, sensor):
            refused.append(Refused.of(message, bus_reasons.COMPANY))
        elif read.opened.trip_id is None and any(isinstance(each.reading, Microtrip | Trip) for each in read.records):
            refused.append(Refused.of(message, bus_reasons.NO_TRIP, sensor.id))
        else:
            refused += [Refused(message, rejected, sensor.id) for rejected in read.left_out]
            found.append(Admitted(read, sensor))
    return found


def is_foreign(message: Message, opened: Opened, sensor: Sensor) -> bool:
    """True if the message or its topic belongs to another company than the sensor (4.17)."""
    return bool({opened.company_id, message.company_id} - {None, sensor.company_id})


def new_trips(
    messages: Sequence[Admitted], known: Mapping[str, BusTrip], facts: Facts, *, ids_: TimeIds, now_ms: int
) -> dict[str, list[Any]]:
    """Return the row values (`bus_trips.NEW`) of each missing trip, by id; sorted by id, the common order of
    creation."""
    first: dict[str, Admitted] = {}
    for message in messages:
        trip_id = message.trip_id
        if trip_id is not None and trip_id not in known:
            first.setdefault(trip_id, message)
    found = {}
    for trip_id in sorted(first):
        message, no = first[trip_id], ids_.take(1, now_ms=now_ms)
        sensor, owner = message.sensor, message.owner(facts)
        found[trip_id] = [
            *(no, trip_id, ids.ms_of_no(no), sensor.company_id, sensor.id),
            *(*owner, sensor.service_type, _device_type(message), False),
            *(trips.move(None, Cause.SAMPLE).value, bus.SOURCE),
        ]
    return found


class Placer:
    """Places one batch. `now_ms` is the batch's instant, recorded in all rows that it creates or ends."""

    def __init__(
        self, locked: LockedState, refused: list[Refused], *, ids_: TimeIds, grace_ms: int, now_ms: int
    ) -> None:
        self._locked = locked
        self._facts = locked.facts
        self._ids = ids_
        self._grace_ms = grace_ms
        self._now_ms = now_ms
        self._spans: dict[int, Span] = {}
        """Earliest and latest samples that the batch added to a trip."""
        self.rows = Rows()
        self.microtrips: list[Any] = []
        """Values for `bus_trips.MICROTRIPS`."""
        self.events: list[Any] = []
        self.driven: dict[int, UserId | None] = {}
        """Ended trips that got another driver."""
        self.told: list[StoredReading] = []
        self.refused = refused
        """Unusable messages, the placer's own among them."""
        self.counts: collections.Counter[str] = collections.Counter()

    def place(self, messages: Sequence[Admitted]) -> None:
        """Place every message, in order of receipt."""
        for message in messages:
            trip = self._locked.trips.get(message.trip_id or "")
            of_sensor = (bus.SOURCE, message.sensor.id, False)
            if trip is not None and (trip.source, trip.sensor_id, trip.erased) != of_sensor:
                self.refused.append(Refused.of(message.read.message, bus_reasons.TRIP_TAKEN, message.sensor.id))
                continue
            for record in message.read.records:
                self._record(message, record, trip)

    def _record(self, message: Admitted, record: Record, trip: BusTrip | None) -> None:
        reading = record.reading
        if isinstance(reading, Microtrip):
            assert trip is not None
            self._microtrip(message, record, reading, trip)
        elif isinstance(reading, Trip):
            assert trip is not None
            self._message(message, record, reading, trip)
        elif isinstance(reading, DeviceEvent):
            self._event(message, record, reading, trip)
        else:
            self.rows.set_attribute(message.sensor.id, reading.name, self._now_ms, reading.payload)
            self.counts["latest"] += 1

    def _microtrip(self, message: Admitted, record: Record, reading: Microtrip, trip: BusTrip) -> None:
        new = self._new_record(record, message.read.opened.record, self._locked.microtrips)
        if new is None:
            return
        self.microtrips += (new.no, trip.no, new.id, reading.ts, reading.ty, reading.payload, reading.samples)
        self.microtrips += (new.key, message.read.opened.envelope)
        self._join(message.sensor, trip, reading)
        self.counts["microtrip"] += 1
        self._tell_of(message.sensor, reading, trip.vehicle_id)

    def _join(self, sensor: Sensor, trip: BusTrip, reading: Microtrip) -> None:
        span = Span(reading.first_ms, reading.last_ms)
        self._spans[trip.no] = self._spans.get(trip.no, span).and_also(span)
        if trip.live is State.COMPLETE:
            self._join_ended(trip, reading, span)
            return
        if trip.live is State.LAPSED:
            trip.state = trips.move(trip.live, Cause.RESUMED).value
            trip.end_ms = trip.closed_ms = None
            trip.changed = True
        start_ms = trip.start_ms
        if start_ms is None:
            trip.start_ms, trip.device_type, trip.parking = reading.first_ms, reading.device_type, reading.parking
            trip.changed = True
        elif reading.first_ms < start_ms or (trip.parking and not reading.parking):
            trip.start_ms = min(start_ms, reading.first_ms)
            trip.parking = trip.parking and reading.parking
            trip.changed = True
        if trip.start_ms != start_ms:
            self.rows.began(trip)
        self._tell(sensor, trip, trips.MICROTRIP)

    def _join_ended(self, trip: BusTrip, reading: Microtrip, span: Span) -> None:
        """Add a microtrip after its trip message: the samples supply facts that are missing in the message."""
        told = bus.told(trip.message_key or "")
        if told.alone:
            trip.parking = told.parking or reading.parking
            trip.message_key = replace(told, alone=False).text
        else:
            assert trip.start_ms is not None and trip.end_ms is not None
            span = span.and_also(Span(trip.start_ms, trip.end_ms))
            trip.parking = told.parking or (trip.parking and reading.parking)
        trip.start_ms, trip.end_ms = _ordered(told.start_ms, told.end_ms, span)
        trip.changed = True
        self.rows.began(trip)
        self._ask_score(trip, again=True)

    def _message(self, message: Admitted, record: Record, reading: Trip, trip: BusTrip) -> None:
        """End the trip with its message, or apply changes since an earlier message (4.15)."""
        opened = message.read.opened
        digest = bus.digest(opened.envelope, record.content)
        before = bus.told(trip.message_key) if trip.live is State.COMPLETE and trip.message_key else None
        if before is not None and digest in before.digests:
            self.counts["duplicate"] += 1
            return
        was_ended = trip.closed_ms is not None
        facts_before = (
            trip.device_type,
            trip.vehicle_id,
            trip.parking,
            trip.payload and bus_payloads.compact(bytes(trip.payload)),
        )
        has_samples = trip.start_ms is not None and not (before is not None and before.alone)
        self.rows.began(trip)  # the message may name another driver
        self._say(trip, message, reading, before, has_samples=has_samples, digest=digest)
        if before is None:
            trip.state, trip.closed_ms = trips.move(trip.live, Cause.MESSAGE).value, self._now_ms
        if before is None or facts_before != (trip.device_type, trip.vehicle_id, trip.parking, record.content):
            self._ask_score(trip, again=was_ended)
        trip.changed = True
        self.rows.began(trip)
        self._tell(message.sensor, trip, trips.TRIP)
        self.counts["trip" if before is None else "updated"] += 1
        self._tell_of(message.sensor, reading, trip.vehicle_id)

    def _say(
        self,
        trip: BusTrip,
        message: Admitted,
        reading: Trip,
        before: bus.TripMessage | None,
        *,
        has_samples: bool,
        digest: str,
    ) -> None:
        opened = message.read.opened
        if trip.vehicle_id is None:
            trip.vehicle_id = message.owner(self._facts).vehicle_id
        if opened.user_id is not None:
            user_id = self._person(opened.user_id, message.sensor, trip.vehicle_id)
            if trip.corrected_ms is not None:
                trip.recorded_user_id = user_id  # takes effect if the correction is withdrawn
            else:
                if user_id != trip.user_id and trip.closed_ms is not None:
                    self.driven[trip.no] = user_id
                trip.user_id = user_id
        if opened.values.get("deviceType") is not None or not has_samples:
            trip.device_type = reading.device_type
        parked = has_samples and trip.parking and not (before is not None and before.parking)
        trip.parking = reading.parking or parked
        told = bus.TripMessage(
            reading.start_ms,
            reading.end_ms,
            parking=reading.parking,
            alone=not has_samples,
            digests=(digest, *(() if before is None else before.digests)),
        )
        trip.start_ms, trip.end_ms = self._times(trip, reading, has_samples=has_samples)
        trip.message_ty, trip.message_key, trip.distance_m = reading.ty, told.text, reading.distance_m
        trip.payload, trip.envelope = reading.payload, opened.envelope

    def _times(self, trip: BusTrip, reading: Trip, *, has_samples: bool) -> Span:
        """Start and end: from the message, or else the samples, or else the message's header time (4.11)."""
        if reading.start_ms is not None and reading.end_ms is not None:
            return Span(reading.start_ms, reading.end_ms)
        spans = [self._spans.get(trip.no), self._locked.bounds(trip.no) if has_samples else None]
        known = [span for span in spans if span is not None]
        made_ms = self._now_ms if reading.header_ms is None else reading.header_ms
        samples = functools.reduce(Span.and_also, known) if known else Span(made_ms, made_ms)
        return _ordered(reading.start_ms, reading.end_ms, samples)

    def _event(self, message: Admitted, record: Record, reading: DeviceEvent, trip: BusTrip | None) -> None:
        new = self._new_record(record, message.read.opened.record, self._locked.events)
        if new is None:
            return
        vehicle_id, user_id = message.owner(self._facts) if trip is None else (trip.vehicle_id, trip.user_id)
        said = message.read.opened.user_id
        if said is not None:
            user_id = self._person(said, message.sensor, vehicle_id)
        sensor = message.sensor
        self.events += (new.no, new.id, sensor.company_id, sensor.id, vehicle_id, user_id, trip and trip.id)
        self.events += (reading.device_type, reading.ty, reading.sent_ty, reading.ts, reading.event_ms)
        self.events += (reading.lat, reading.lon, reading.payload, new.key, message.read.opened.envelope)
        if reading.is_attribute:
            self.rows.set_attribute(sensor.id, str(reading.ty), reading.event_ms, reading.payload)
        self.counts["event"] += 1
        self._tell_of(sensor, reading, vehicle_id)

    def _tell(self, sensor: Sensor, trip: BusTrip, kind: str) -> None:
        """Update the last kind of message of sensor and vehicle."""
        if self.rows.sensors.get(sensor.id, sensor.kind) != kind:
            self.rows.sensors[sensor.id] = kind
            if trip.vehicle_id is not None:
                self.rows.tell_vehicle(trip.vehicle_id, kind, began=False)

    def _tell_of(self, sensor: Sensor, reading: Microtrip | Trip | DeviceEvent, vehicle_id: VehicleId | None) -> None:
        self.told.append(StoredReading(Subject(sensor.id, sensor.company_id, vehicle_id), reading))

    def _new_record(self, record: Record, name: str | None, stored: dict[int, list[bytes]]) -> _RecordKeys | None:
        """Return the keys of a new record; None: it is stored already (4.15)."""
        same_name = stored.get(record.by_name, []) if record.by_name is not None else []
        both = (*same_name, *stored.get(record.by_content, ()))
        if any(bus_payloads.compact(payload) == record.content for payload in both):
            self.counts["duplicate"] += 1
            return None
        no = self._ids.take(1, now_ms=self._now_ms)
        is_first = record.by_name is not None and not same_name
        key = record.by_name if record.by_name is not None and is_first else record.by_content
        # So that the same record is recognised when it is repeated in this batch.
        stored.setdefault(key, []).append(record.content)
        return _RecordKeys(no, (bus_fields.uuid(name) if is_first else None) or self._ids.text(no), key)

    def _person(self, user_id: str, sensor: Sensor, vehicle_id: VehicleId | None) -> UserId | None:
        """The driver that the message names, if that person may drive the vehicle (4.18)."""
        if user_id not in self._facts.people:
            return None
        is_own = self._facts.people[user_id] == sensor.company_id
        allowed = is_own or (user_id, vehicle_id) in self._facts.rights
        return UserId(user_id) if allowed or _driver(self._facts, vehicle_id) == user_id else None

    def _ask_score(self, trip: BusTrip, *, again: bool) -> None:
        """Queue the ended trip for scoring, after the grace. A trip already queued keeps its due time."""
        reason = trips.why_not_scored(trip.device_type, trip.vehicle_id, parking=trip.parking)
        if reason is not None and not again:
            trip.not_scored = reason
            self.rows.jobs.pop(trip.no, None)
            return
        due_ms = self._locked.jobs.get(trip.no)
        if trip.no in self.rows.jobs or (again and due_ms is not None and due_ms > self._now_ms):
            return
        # Use another instant than before, so that a scorer at work on the job notices the change.
        self.rows.jobs[trip.no] = max(self._now_ms + self._grace_ms, 0 if due_ms is None else due_ms + 1)


def _time_of(reading: Microtrip | Trip | DeviceEvent | LatestValues) -> float:
    """When it begins; infinite: unknown."""
    if isinstance(reading, Microtrip):
        return reading.first_ms
    if isinstance(reading, DeviceEvent):
        return reading.event_ms
    times = (reading.start_ms, reading.end_ms, reading.header_ms) if isinstance(reading, Trip) else ()
    return next((at_ms for at_ms in times if at_ms is not None), math.inf)


def _ordered(start_ms: int | None, end_ms: int | None, samples: Span) -> Span:
    """Stated times, or else those of the samples; the end is not before the start."""
    start = samples.first_ms if start_ms is None else start_ms
    end = samples.last_ms if end_ms is None else end_ms
    if start <= end:
        return Span(start, end)
    return Span(start, start) if end_ms is None else Span(end, end)


def _device_type(message: Admitted) -> str:
    readings = (record.reading for record in message.read.records)
    return next(reading.device_type for reading in readings if not isinstance(reading, LatestValues))


def _driver(facts: Facts, vehicle_id: VehicleId | None) -> UserId | None:
    vehicle = None if vehicle_id is None else facts.vehicles.get(vehicle_id)
    return None if vehicle is None else vehicle.driver_id
