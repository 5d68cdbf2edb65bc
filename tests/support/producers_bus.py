"""A customer's own collecting system under load: it writes real drives to the bus again and again, and remembers what
the brokers have taken (`acks=all`). What it gave to its client is written sooner or later, whatever fails.
"""

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Producer

from tests.support.fleet import Registered
from tests.support.producers import Drive, drives, hash_of
from tripline.wire.bus import envelopes as bus_envelopes

TOPICS = (bus_envelopes.MICROTRIPS, bus_envelopes.TRIPS, bus_envelopes.EVENTS)
PARTITIONS = 6
LINGER_MS = 50
"""How long the client gathers messages: what brokers and workers cost is their number of requests."""
NAMESPACE = uuid.UUID("8d1b3f0a-6a1e-4a5e-9c65-0d4b0c6f7a11")


@dataclass
class Vehicle:
    """What was written of one vehicle, in order."""

    registered: Registered
    company_id: str
    trips: list[tuple[str, str]] = field(default_factory=list)
    """Id of each trip that was begun, and the name of its drive."""
    microtrips: list[Any] = field(default_factory=list)
    """Payloads."""
    ended: list[Any] = field(default_factory=list)
    """Payloads of trip messages."""
    events: list[Any] = field(default_factory=list)

    def drive(self, known: Sequence[Drive]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The next trip's messages, each with its topic."""
        number = len(self.trips)
        drive = known[(number + hash_of(self.registered.sensor_id)) % len(known)]
        trip_id = self._id("trip", number)
        self.trips.append((trip_id, drive.name))
        *samples, end = drive.bodies(number)
        yield bus_envelopes.EVENTS, self._message("event", number, trip_id, self.events, samples[0], ty=102)
        for sample in samples:
            yield bus_envelopes.MICROTRIPS, self._message("microtrip", number, trip_id, self.microtrips, sample)
        times = {"startTs": end["pld"]["stt"], "endTs": end["pld"]["edt"]}
        yield bus_envelopes.TRIPS, self._message("trip", number, trip_id, self.ended, end, **times)

    def _message(
        self, kind: str, number: int, trip_id: str, written: list[Any], message: dict[str, Any], **more: Any
    ) -> dict[str, Any]:
        payload, at_ms = message["pld"], message["ts"]
        if kind == "event":
            payload = {"tid": payload[0]["tid"], "dclat": payload[0]["lat"], "dclon": payload[0]["lon"], "n": number}
            more |= {"eventId": self._id("event", number), "eventTs": at_ms}
        if kind == "microtrip":
            more |= {"microTripId": self._id("microtrip", len(written)), "ts": at_ms}
        written.append(payload)
        who = {"companyId": self.company_id, "vehicleId": self.registered.vehicle_id}
        data = {"deviceType": "GPS", "tripId": trip_id, "sensorId": self.registered.sensor_id, "createdTime": at_ms}
        return {"data": {**data, **who, "payload": payload, **more}, "msgType": kind}

    def _id(self, kind: str, number: int) -> str:
        return str(uuid.uuid5(NAMESPACE, f"{self.registered.sensor_id} {kind} {number}"))


class BusLoad:
    """Writes to the bus on a thread of its own, until it is told to come to an end, and then without pauses."""

    def __init__(self, brokers: str, registered: Sequence[Registered], company_id: str, *, rate: float = 100.0) -> None:
        """`rate`: messages a second, of all vehicles together."""
        self.vehicles = [Vehicle(each, company_id) for each in registered]
        self.delivered = 0
        self._failed: list[str] = []
        self.rate = rate
        self._producer = Producer(
            {
                "bootstrap.servers": brokers,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": LINGER_MS,
                "log_level": 0,
                "delivery.timeout.ms": 300_000,
            }
        )
        self._finishing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bus load")
        self._thread.start()

    def flows(self, count: int = 200, *, within_s: float = 120.0) -> None:
        """Wait until brokers have taken so many more messages."""
        until, goal = time.monotonic() + within_s, self.delivered + count
        while self.delivered < goal:
            assert self._thread.is_alive()
            assert time.monotonic() < until, f"brokers did not take {goal - self.delivered} of {count} messages"
            time.sleep(0.02)

    def finish(self) -> None:
        """End every trip; return when the brokers have taken everything."""
        self._finishing.set()
        self._thread.join(180)
        assert not self._thread.is_alive()
        assert self._failed == []

    def _run(self) -> None:
        known = drives()
        running = [(vehicle, iter(vehicle.drive(known))) for vehicle in self.vehicles]
        while running:
            again = []
            for vehicle, messages in running:
                found = next(messages, None)
                if found is not None:
                    self._write(vehicle, *found)
                    again.append((vehicle, messages))
                elif not self._finishing.is_set():
                    again.append((vehicle, iter(vehicle.drive(known))))
            running = again
        self._failed += ["not written"] * self._producer.flush(150)

    def _write(self, vehicle: Vehicle, topic: str, message: dict[str, Any]) -> None:
        key = vehicle.registered.sensor_id.encode()
        self._producer.produce(topic, json.dumps(message).encode(), key, on_delivery=self._told)
        until = time.monotonic() + 1 / self.rate
        while not self._finishing.is_set() and (left := until - time.monotonic()) > 0:
            self._producer.poll(left)  # it returns early when messages were taken
        self._producer.poll(0)

    def _told(self, error: Any, _: Any) -> None:
        if error is None:
            self.delivered += 1
        else:
            self._failed.append(error.name())


@contextlib.contextmanager
def writing(
    brokers: str, registered: Sequence[Registered], company_id: str, *, rate: float = 100.0
) -> Iterator[BusLoad]:
    """A customer's system that writes while the block runs; at its end the brokers have taken everything."""
    load = BusLoad(brokers, registered, company_id, rate=rate)
    try:
        yield load
    finally:
        load.finish()
