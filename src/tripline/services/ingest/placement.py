"""Place readings: find the trip of each reading, including late ones, open and end trips, and build the rows.

Nothing here waits or reads; a batch is placed against the tracks at once, and its rows are written afterwards.

Not here: the choice of the trip (`domain/trips.py`), the rules of its life (`domain/trips.py`), decoding
(`wire/device/publish.py`), writing (`store/trips/batch_rows.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tripline.config import Ingest
from tripline.domain import ids as time_ids
from tripline.domain import trips
from tripline.domain.ids import TimeIds, TripId, VehicleId
from tripline.domain.instants import MINUTE_MS
from tripline.domain.mountings import Owner, Past
from tripline.domain.trips import Cause, LiveTrip, MessageKey, State, Told
from tripline.services.ingest.batch import Item
from tripline.services.ingest.tracks import Track
from tripline.store.trips.batch_rows import Rows
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Trip


class Placer:
    """Places one batch into `rows`. `now_ms` is the batch's instant, recorded in all rows that it creates or ends."""

    def __init__(
        self,
        *,
        ids: TimeIds,
        settings: Ingest,
        scoring_grace_s: float,
        late_grace_s: float,
        now_ms: int,
        pasts: Mapping[Track, Past],
    ) -> None:
        """`pasts`: of the sensors with a message older than their last change."""
        self.rows = Rows()
        self._ids = ids
        self._now_ms = now_ms
        self._due_ms = int(now_ms + scoring_grace_s * 1000)
        self._late_due_ms = int(now_ms + late_grace_s * 1000)
        """When a trip is scored that got late samples, unless more of them come."""
        self._pasts = pasts
        self._no = ids.take(1, now_ms=now_ms)
        """Number of the present message: later ones have greater numbers."""
        self._gap_ms = round(settings.trip_gap_minutes * MINUTE_MS)

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
                # In order, the open trip is sure to be the one that `trips.of_sample` chooses.
                if (
                    trip is not None
                    and track.sure_ms <= trip.last_ms <= sample_ms <= trip.last_ms + gap_ms
                    and reading.tid == trip.tid
                    and (reading.parking == trip.parking or reading.device_type != "BLACKBOX")
                ):
                    trip.last_ms = reading.last_ms
                    if track.kind != trips.MICROTRIP:
                        self._tell(track, None, trips.MICROTRIP)
                else:
                    self._no = time_ids.RowNo(no)
                    trip = self._join_or_begin(track, reading)
                    item.vehicle_id = trip.vehicle_id
                track.used_ms = item.frame.received_ms
                keep((no, trip.no, text, reading.ts, reading.ty, reading.payload, reading.samples))
            elif type(reading) is DeviceEvent:
                item.vehicle_id = self._event(track, reading, item.frame.received_ms, no, text)
            elif type(reading) is Trip:
                self._no = time_ids.RowNo(no)
                item.vehicle_id = self._message(track, reading, item.frame.received_ms)
            else:
                assert type(reading) is LatestValues
                self.rows.set_attribute(track.sensor_id, reading.name, item.frame.received_ms, reading.payload)

    def end(self, track: Track, cause: Cause) -> None:
        """End the sensor's open trip without a trip message; it is scored from its samples (I1, H8)."""
        trip = track.trip
        assert trip is not None
        if cause is Cause.REMOUNTED:
            # Later samples are of the new vehicle. Before a first mounting, a sensor counts as on its vehicle.
            trip.until_ms = trip.last_ms if trip.vehicle_id is None else max(trip.last_ms, track.changed_ms)
        self._end(track, trip, cause)

    def _join_or_begin(self, track: Track, reading: Microtrip) -> LiveTrip:
        """Add a microtrip to the trip that it belongs to, which may have ended, or begin one (I1, I6)."""
        sample = Told(reading.tid, reading.device_type, reading.parking, reading.first_ms, reading.last_ms)
        trip = trips.of_sample(self._trips_at(track, sample.first_ms), sample, self._gap_ms)
        if trip is None:
            return self._begin(track, reading)
        if trip.state is State.OPEN:
            if sample.first_ms < trip.first_ms:
                trip.first_ms = sample.first_ms
                self._changed(track, trip)
                self.rows.grown_open[trip.no] = trip
            if sample.last_ms < trip.last_ms:
                self.rows.grown_open[trip.no] = trip
            else:
                trip.last_ms = sample.last_ms
        else:
            self._grow_ended(track, trip, reading)
        if track.kind != trips.MICROTRIP:
            self._tell(track, None, trips.MICROTRIP)
        return trip

    def _grow_ended(self, track: Track, trip: LiveTrip, reading: Microtrip) -> None:
        """Add a late microtrip to a trip that has ended: it stays ended, and is scored once no more of them come."""
        first_ms, was_bare = trip.first_ms, trip.is_bare
        if was_bare:
            trip.tid, trip.device_type = reading.tid, reading.device_type
            trip.parking = trip.parking or reading.parking
        trip.grow(reading.first_ms, reading.last_ms)
        if trip.first_ms != first_ms:
            self.rows.began(trip)
        self._adopt(track, trip)
        # A backlog adds many microtrips to one trip, which is written once.
        if was_bare or trip.no not in self.rows.grown_ended:
            self._write_ended(trip)
        track.measure()

    def _write_ended(self, trip: LiveTrip) -> None:
        """Write the changed times and kind of an ended trip, and have it scored."""
        trip.closed_ms = self._now_ms
        due_ms = max(self._late_due_ms, self.rows.jobs.get(trip.no, 0))
        self.rows.grown_ended[trip.no] = (trip, self._ask_score(trip, due_ms))

    def _begin(self, track: Track, reading: Microtrip) -> LiveTrip:
        """Begin a trip, with the vehicle and driver at its start (H9). A later one ends the open trip; one before it,
        long before the latest, or on an earlier vehicle has ended by itself."""
        owner = self._owner(track, reading.first_ms)
        if owner.vehicle_id != track.vehicle_id:
            is_late = True
        elif track.trip is not None:
            is_late = reading.first_ms < track.trip.last_ms
        else:
            is_late = any(reading.last_ms + self._gap_ms < each.last_ms for each in track.trips)
        if track.trip is not None and not is_late:
            self.end(track, Cause.GAP)
        cause = Cause.LATE if is_late else Cause.SAMPLE
        trip = self._new_trip(track, reading, owner, cause, first_ms=reading.first_ms, last_ms=reading.last_ms)
        if is_late:
            trip.closed_ms = self._now_ms
            self._insert(track, trip, not_scored=self._ask_score(trip, self._late_due_ms))
        else:
            track.trip = trip
            track.measure()
            self._insert(track, trip)
        self._tell(track, trip, trips.MICROTRIP)
        return trip

    def _message(self, track: Track, message: Trip, received_ms: int) -> VehicleId | None:
        """Complete the trip that the message is about, or create one for the message (I2). Return the vehicle of that
        trip."""
        told = told_by(message, received_ms)
        trip = trips.of_message(track.trips, told, self._gap_ms)
        self.rows.messages += 1
        if trip is None:
            return self._alone(track, message, told, received_ms)
        start_said = message.start_ms is not None
        if message.start_ms is not None:
            first = trips.first_piece(track.trips, trip, message.start_ms)
            if first is trip:
                trip.first_ms = message.start_ms
            else:
                start_said = False
                first.first_ms = message.start_ms
                self._write_ended(first)
            self._changed(track, first)
        if message.end_ms is not None:
            trip.last_ms = message.end_ms
        trip.parking = trip.parking or message.parking
        trip.start_said, trip.end_said = start_said, message.end_ms is not None
        trip.until_ms = told.last_ms + trips.MARGIN_MS
        self._end(track, trip, Cause.MESSAGE, **_said(message))
        self._tell(track, None, trips.TRIP)
        return trip.vehicle_id

    def _alone(self, track: Track, message: Trip, told: Told, received_ms: int) -> VehicleId | None:
        """Create a trip for a message without microtrips, which may come later; return its vehicle."""
        made_ms = received_ms if message.header_ms is None else message.header_ms
        trip = self._new_trip(
            track,
            message,
            self._owner(track, told.first_ms),
            Cause.MESSAGE,
            first_ms=made_ms if message.start_ms is None else message.start_ms,
            last_ms=made_ms if message.end_ms is None else message.end_ms,
            closed_ms=self._now_ms,
            until_ms=told.last_ms + trips.MARGIN_MS,
            is_bare=True,
            start_said=message.start_ms is not None,
            end_said=message.end_ms is not None,
        )
        self._insert(track, trip, not_scored=self._ask_score(trip, self._due_ms), **_said(message))
        self._tell(track, trip, trips.TRIP)
        return trip.vehicle_id

    def _owner(self, track: Track, at_ms: int) -> Owner:
        """The vehicle that the sensor was on at the instant, and its driver."""
        past = self._pasts.get(track)
        return Owner(track.vehicle_id, track.driver_id) if past is None else past.owner(at_ms)

    def _trips_at(self, track: Track, at_ms: int) -> Sequence[LiveTrip]:
        """The sensor's trips that began while it was on the vehicle of this instant: no other has samples of it."""
        past = self._pasts.get(track)
        if past is not None:
            vehicle_id = past.owner(at_ms).vehicle_id
            return [trip for trip in track.trips if past.owner(trip.first_ms).vehicle_id == vehicle_id]
        changed_ms, vehicle_id = track.changed_ms, track.vehicle_id
        return [trip for trip in track.trips if trip.first_ms >= changed_ms or trip.vehicle_id == vehicle_id]

    def _event(self, track: Track, event: DeviceEvent, received_ms: int, no: int, text: str) -> VehicleId | None:
        """Store a device event with the trip that it belongs to by number and time; return its vehicle."""
        trip = trips.of_event(self._trips_at(track, event.event_ms), event.tid, event.event_ms, self._gap_ms)
        if trip is None:
            track.has_early_events = True
            owner = self._owner(track, event.event_ms)
        else:
            owner = Owner(trip.vehicle_id, trip.user_id)
            if trip.closed_ms is not None:
                self.rows.late_events.append(no)
        self.rows.events += (
            *(no, text, track.company_id, track.sensor_id),
            *(*owner, trip and trip.id),
            *(event.device_type, event.ty, event.sent_ty, event.ts, event.event_ms, event.tid),
            *(event.lat, event.lon, event.payload),
        )
        track.used_ms = received_ms
        if event.is_attribute:
            self.rows.set_attribute(track.sensor_id, str(event.ty), event.event_ms, event.payload)
        return owner.vehicle_id

    def _end(self, track: Track, trip: LiveTrip, cause: Cause, **said: Any) -> None:
        trip.state = trips.move(trip.state, cause)
        trip.closed_ms = self._now_ms
        # A late message can complete a trip that ended while the next one is under way.
        if trip is track.trip:
            track.trip = None
        track.measure()
        self._adopt(track, trip)
        self.rows.end(trip, not_scored=self._ask_score(trip, self._due_ms), **said)

    def _ask_score(self, trip: LiveTrip, due_ms: int) -> str | None:
        """Queue the ended trip for scoring, or return the reason it gets no score."""
        reason = trips.why_not_scored(trip.device_type, trip.vehicle_id, parking=trip.parking)
        if reason is None:
            self.rows.jobs[trip.no] = due_ms
        else:
            # The message may reveal a trip as parking after this batch ended it and queued it for scoring.
            self.rows.jobs.pop(trip.no, None)
        return reason

    def _new_trip(self, track: Track, part: Microtrip | Trip, owner: Owner, cause: Cause, **more: Any) -> LiveTrip:
        """Make a trip of the number and kind of its first message."""
        no = self._ids.take(1, now_ms=self._now_ms)
        trip = LiveTrip(
            no,
            TripId(self._ids.text(no)),
            state=trips.move(None, cause),
            tid=part.tid,
            device_type=part.device_type,
            parking=part.parking,
            vehicle_id=owner.vehicle_id,
            user_id=owner.driver_id,
            **more,
        )
        track.add(trip, now_ms=self._now_ms)
        return trip

    def _insert(self, track: Track, trip: LiveTrip, *, not_scored: str | None = None, **said: Any) -> None:
        is_open = trip.closed_ms is None
        self.rows.trips += (
            *(trip.no, trip.id, time_ids.ms_of_no(trip.no), track.company_id, track.sensor_id),
            *(trip.vehicle_id, trip.user_id, track.service_type, trip.device_type, trip.tid, trip.parking),
            *(trip.state.value, trip.first_ms, None if is_open else trip.last_ms, trip.closed_ms),
            *(said.get("message_ty"), said.get("message_key"), said.get("distance_m"), said.get("payload")),
            *(not_scored, trip.last_ms if is_open else None, trip.until_ms),
        )

    def _tell(self, track: Track, trip: LiveTrip | None, kind: str) -> None:
        """Update vehicle and sensor, and for a new trip the latest one of vehicle and driver."""
        track.kind = kind
        self.rows.sensors[track.sensor_id] = kind
        if track.vehicle_id is not None:
            self.rows.tell_vehicle(track.vehicle_id, kind, began=False)
        if trip is not None:
            self._changed(track, trip)

    def _changed(self, track: Track, trip: LiveTrip) -> None:
        """The trip began, or has other times now: it may be the latest one, and events near it may be its own."""
        self.rows.began(trip)
        self._adopt(track, trip)

    def _adopt(self, track: Track, trip: LiveTrip) -> None:
        """Give the trip the events that came before the present message and have none."""
        if track.has_early_events:
            self.rows.adopt_events(track.sensor_id, trip, self._gap_ms, self._no)


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


def told_by(message: Trip, received_ms: int) -> Told:
    """Number, kind and time of a trip message; without a time of its own, the receipt's."""
    made_ms = received_ms if message.header_ms is None else message.header_ms
    end_ms = made_ms if message.end_ms is None else message.end_ms
    start_ms = end_ms if message.start_ms is None else min(message.start_ms, end_ms)
    return Told(message.tid, message.device_type, message.parking, start_ms, end_ms)
