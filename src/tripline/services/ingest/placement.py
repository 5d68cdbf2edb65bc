"""Place readings: find the trip of each reading, including late ones, open and end trips, and build the rows.

Nothing here waits or reads; a batch is placed against the tracks at once, and its rows are written afterwards.

Not here: the rules of a trip's life (`domain/trips.py`), decoding (`wire/device/publish.py`), writing
(`store/trips/batch_rows.py`).
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tripline.config import Ingest
from tripline.domain import ids as time_ids
from tripline.domain import trips
from tripline.domain.ids import TimeIds, TripId, VehicleId
from tripline.domain.trips import Cause, LiveTrip, MessageKey
from tripline.services.ingest.batch import Item
from tripline.services.ingest.tracks import Track
from tripline.store.trips.batch_rows import Rows
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Trip

_MINUTE_MS: Final = 60_000


class _TripKeys(NamedTuple):
    """Row number and id of a new trip."""

    no: time_ids.RowNo
    id: TripId


class Ending(NamedTuple):
    """An open trip that ended without a message."""

    track: Track
    cause: Cause


class Placer:
    """Places one batch into `rows`. `now_ms` is the batch's instant, recorded in all rows that it creates or ends."""

    def __init__(self, *, ids: TimeIds, settings: Ingest, scoring_grace_s: float, now_ms: int) -> None:
        self.rows = Rows()
        self._ids = ids
        self._now_ms = now_ms
        self._due_ms = int(now_ms + scoring_grace_s * 1000)
        self._gap_ms = settings.trip_gap_minutes * _MINUTE_MS
        self._reopen_ms = settings.reopen_minutes * _MINUTE_MS

    def place(self, items: Sequence[Item]) -> None:
        """Place every reading, in order of receipt."""
        if not items:
            return
        numbers = self._ids.numbers(len(items), now_ms=self._now_ms)
        texts = self._ids.texts(numbers)
        # This loop runs once per message: it uses local variables and compares types by identity.
        gap_ms = self._gap_ms
        keep = self.rows.microtrips.extend
        enter = self.rows.entries.extend
        for item, no, text in zip(items, numbers, texts, strict=True):
            track, reading, mark = item.track, item.reading, item.mark
            if mark is not None:
                enter((item.instant, mark, no))
            if type(reading) is Microtrip:
                trip = track.trip
                sample_ms = reading.first_ms
                if trip is None or not trips.belongs(
                    trip, reading.tid, reading.device_type, reading.parking, sample_ms, gap_ms
                ):
                    trip = self._open(track, reading)
                else:
                    if sample_ms < trip.first_ms:
                        trip.first_ms = self.rows.started[trip.no] = sample_ms
                    if reading.last_ms > trip.last_ms:
                        trip.last_ms = reading.last_ms
                    if track.kind != trips.MICROTRIP:
                        self._tell(track, None, trips.MICROTRIP)
                track.used_ms = item.frame.received_ms
                keep((no, trip.no, text, reading.ts, reading.ty, reading.payload, reading.samples))
            elif type(reading) is DeviceEvent:
                self._event(track, reading, item.frame.received_ms, no, text)
            elif type(reading) is Trip:
                item.vehicle_id = self._message(track, reading, item.frame.received_ms)
            else:
                assert type(reading) is LatestValues
                self.rows.set_attribute(track.sensor_id, reading.name, item.frame.received_ms, reading.payload)

    def end(self, ending: Ending) -> None:
        """End the sensor's open trip without a trip message; it is scored from its samples (I1, H8)."""
        track, cause = ending
        trip = track.trip
        assert trip is not None
        self._end(track, trip, cause, start_ms=trip.first_ms, end_ms=trip.last_ms)
        track.lapse(trip, since_ms=int(self._now_ms - self._reopen_ms))

    def _open(self, track: Track, reading: Microtrip) -> LiveTrip:
        """Open a new trip, ending the open one (I1, I4, I6). Its driver is the vehicle's current driver (H9)."""
        if track.trip is not None:
            self.end(Ending(track, Cause.GAP))
        trip = track.trip = LiveTrip(
            *self._new_trip(),
            state=trips.move(None, Cause.SAMPLE),
            tid=reading.tid,
            device_type=reading.device_type,
            parking=reading.parking,
            vehicle_id=track.vehicle_id,
            user_id=track.driver_id,
            first_ms=reading.first_ms,
            last_ms=reading.last_ms,
        )
        self._insert(track, trip, start_ms=trip.first_ms)
        self._tell(track, trip.id, trips.MICROTRIP)
        return trip

    def _message(self, track: Track, message: Trip, received_ms: int) -> VehicleId | None:
        """Complete the open trip, or else a recently ended one, or else create a trip for the message (I2). Return the
        vehicle of that trip."""
        trip = self._told_of(track, message)
        self.rows.messages += 1
        if trip is None:
            self._alone(track, message, received_ms)
            self._tell(track, None, trips.TRIP)
            return track.vehicle_id
        trip.parking = trip.parking or message.parking
        self._end(track, trip, Cause.MESSAGE, **_times(message, trip, received_ms), **_said(message))
        track.ended = tuple(ended for ended in track.ended if ended is not trip)
        self._tell(track, None, trips.TRIP)
        return trip.vehicle_id

    def _told_of(self, track: Track, message: Trip) -> LiveTrip | None:
        """The trip that the message completes: the newest with a matching number; for a black box, preferably one of
        the same kind, because a drive and the parking after it may share their number (I2, I6)."""
        fitting = [
            ended
            for ended in reversed(track.ended)
            if trips.may_complete(ended, message.tid, now_ms=self._now_ms, reopen_ms=self._reopen_ms)
        ]
        if track.trip is not None and trips.is_about(track.trip, message.tid):
            fitting.insert(0, track.trip)
        of_kind = (trip for trip in fitting if trips.is_of_kind(trip, message.device_type, message.parking))
        return next(of_kind, fitting[0] if fitting else None)

    def _alone(self, track: Track, message: Trip, received_ms: int) -> None:
        """Create a trip for a message without microtrips."""
        times = _times(message, None, received_ms)
        trip = LiveTrip(
            *self._new_trip(),
            state=trips.move(None, Cause.MESSAGE),
            tid=message.tid,
            device_type=message.device_type,
            parking=message.parking,
            vehicle_id=track.vehicle_id,
            user_id=track.driver_id,
            first_ms=times["start_ms"],
            last_ms=times["end_ms"],
            closed_ms=self._now_ms,
        )
        self._insert(track, trip, **times, closed_ms=self._now_ms, **_said(message), not_scored=self._ask_score(trip))
        if track.trip is None:
            self._tell(track, trip.id, trips.TRIP)

    def _event(self, track: Track, event: DeviceEvent, received_ms: int, no: int, text: str) -> None:
        """Store a device event; it belongs to the open trip unless its number contradicts that."""
        trip = track.trip
        if trip is not None and not trips.is_about(trip, event.tid):
            trip = None
        self.rows.events += (
            *(no, text, track.company_id, track.sensor_id),
            *((track.vehicle_id, track.driver_id, None) if trip is None else (trip.vehicle_id, trip.user_id, trip.id)),
            *(event.device_type, event.ty, event.sent_ty, event.ts, event.event_ms, event.lat, event.lon),
            event.payload,
        )
        track.used_ms = received_ms
        if event.is_attribute:
            self.rows.set_attribute(track.sensor_id, str(event.ty), event.event_ms, event.payload)

    def _end(self, track: Track, trip: LiveTrip, cause: Cause, *, start_ms: int, end_ms: int, **said: Any) -> None:
        trip.state = trips.move(trip.state, cause)
        trip.closed_ms = self._now_ms
        # A late message can complete a trip that ended while the next one is under way.
        if trip is track.trip:
            track.trip = None
        not_scored = self._ask_score(trip)
        self.rows.end(trip, start_ms=start_ms, end_ms=end_ms, closed_ms=self._now_ms, not_scored=not_scored, **said)

    def _ask_score(self, trip: LiveTrip) -> str | None:
        """Queue the ended trip for scoring, or return the reason it gets no score."""
        reason = trips.why_not_scored(device_type=trip.device_type, vehicle_id=trip.vehicle_id, parking=trip.parking)
        if reason is None:
            self.rows.jobs[trip.no] = self._due_ms
        else:
            # The message may reveal a trip as parking after this batch ended it and queued it for scoring.
            self.rows.jobs.pop(trip.no, None)
        return reason

    def _insert(self, track: Track, trip: LiveTrip, **more: Any) -> None:
        get = more.get
        self.rows.trips += (
            *(trip.no, trip.id, time_ids.ms_of_no(trip.no), track.company_id, track.sensor_id),
            *(trip.vehicle_id, trip.user_id, track.service_type, trip.device_type, trip.tid, trip.parking),
            *(trip.state.value, get("start_ms"), get("end_ms"), get("closed_ms"), get("message_ty")),
            *(get("message_key"), get("distance_m"), get("payload"), get("not_scored")),
        )

    def _tell(self, track: Track, trip_id: TripId | None, kind: str) -> None:
        """Update vehicle, sensor and (for a new trip) driver."""
        track.kind = kind
        self.rows.sensors[track.sensor_id] = kind
        if track.vehicle_id is not None:
            self.rows.tell_vehicle(track.vehicle_id, trip_id, kind)
        if trip_id is not None and track.driver_id is not None:
            self.rows.drivers[track.driver_id] = trip_id

    def _new_trip(self) -> _TripKeys:
        no = self._ids.take(1, now_ms=self._now_ms)
        return _TripKeys(no, TripId(self._ids.text(no)))


def message_key(message: Trip) -> MessageKey:
    """`trips.message_key` of a trip message."""
    return trips.message_key(
        tid=message.tid, start_ms=message.start_ms, end_ms=message.end_ms, ts=message.ts, payload=message.payload
    )


def _said(message: Trip) -> dict[str, Any]:
    """Columns of the trip's row that come from its message."""
    return {
        "message_ty": message.ty,
        "message_key": message_key(message).text,
        "distance_m": message.distance_m,
        "payload": message.payload,
    }


def _times(message: Trip, trip: LiveTrip | None, received_ms: int) -> dict[str, int]:
    """Start and end of the trip that the message completes or creates (T5)."""
    header_ms = message.header_ms
    return {
        "start_ms": trips.start_ms(
            said_ms=message.start_ms,
            first_ms=trip.first_ms if trip else None,
            header_ms=header_ms,
            received_ms=received_ms,
        ),
        "end_ms": trips.end_ms(
            said_ms=message.end_ms, last_ms=trip.last_ms if trip else None, header_ms=header_ms, received_ms=received_ms
        ),
    }
