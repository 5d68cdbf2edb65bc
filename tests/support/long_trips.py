"""Devices whose one trip is long and never ends: load for tests of what repeated and late data cost.

`preload` puts the beginning of the trips into the buffer topic, as gateways would have; `driving` goes on from there.
"""

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Producer

from tests.support import brokers, clusters, faults, producers
from tests.support.fleet import Registered
from tripline.wire import frames, topics

TOPIC = "tripline-devices"
TRIP = 7
EVERY_MS = 1_000


def message(number: int) -> dict[str, Any]:
    """The n-th message of a trip: one sample."""
    at_ms = producers.FIRST_TRIP_MS + number * EVERY_MS
    sample = {"tid": TRIP, "lat": 37.5 + number * 1e-6, "lon": 127.0, "sp": number % 80, "clt": at_ms}
    return {"ty": 2, "ts": at_ms, "pld": [sample]}


@dataclass
class Driver(producers.Box):
    """A device that is in the middle of its trip."""

    first: int = 0
    """Messages of the trip that were stored before."""

    def _messages(self, finishing: Any) -> Iterator[dict[str, Any]]:
        number = self.first
        while not finishing():
            yield message(number)
            number += 1


def drained(deployment: clusters.Deployment, until: dict[int, int]) -> bool:
    """Whether every partition is stored up to these offsets."""
    stored = dict(deployment.rows("SELECT partition, next_offset FROM bus_position"))
    return all(stored.get(part, 0) >= end for part, end in until.items())


def preload(
    deployment: clusters.Deployment, bus: brokers.Cluster, registered: Sequence[Registered], messages: int
) -> None:
    """Have so many messages of each device stored, as the beginning of its trip."""
    producer = Producer(
        {
            "bootstrap.servers": bus.bootstrap,
            "partitioner": "murmur2_random",
            "queue.buffering.max.messages": 0,
            "log_level": 0,
        }
    )
    for number in range(messages):
        value = frames.packed(topics.TRE, producers.FIRST_TRIP_MS, json.dumps(message(number)).encode())
        for each in registered:
            producer.produce(TOPIC, value, each.sensor_id.encode())
        producer.poll(0)
    assert producer.flush(60) == 0
    until = bus.ends(TOPIC)
    faults.until(lambda: drained(deployment, until), within_s=120)


@contextlib.contextmanager
def driving(
    deployment: clusters.Deployment, registered: Sequence[Registered], *, first: int, rate: float
) -> Iterator[producers.Load]:
    """These devices go on with their trips while the block runs; at its end everything they sent is acknowledged."""
    gateways = [node.devices for node in deployment.gateways]
    load = producers.Load(registered, gateways, deployment.tls, rate=rate)
    load.boxes = [Driver(each, gateways, deployment.tls, (), rate, first=first) for each in registered]
    load.start()
    try:
        yield load
        load.finish()
    except BaseException:
        load.abandon()
        raise


def stored_once(deployment: clusters.Deployment, load: producers.Load) -> dict[str, tuple[int, int]]:
    """By sensor of which it does not hold that each message is stored once, how many messages are lost and how many
    are stored twice."""
    wrong = {}
    for box in load.boxes:
        assert isinstance(box, Driver)
        sensor_id = box.registered.sensor_id
        found = deployment.rows(
            f"SELECT ts FROM microtrip JOIN trip ON trip.no = trip_no WHERE sensor_id = '{sensor_id}'"
        )
        times = {ts for (ts,) in found}
        sent = {message(number)["ts"] for number in range(box.first + len(box.sent))}
        if times != sent or len(times) != len(found):
            wrong[sensor_id] = (len(sent - times), len(found) - len(times))
    return wrong
