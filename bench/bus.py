"""Row 19: customers' messages: aggregates of thirty points and the trips they belong to, stored by one worker.

Everything is on the topics before the worker starts; its rate runs from its first commit to its last, on a machine
that it shares with Kafka and PostgreSQL. The same messages out of a file go into SQLite with `tripline ingest`, whose
time includes its start. Beside it, in the same run: one reader that only takes the messages from the broker, and
the same rows by COPY in transactions of the same size.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import alone, fleet, peers, shared
from bench.buffered import ALONE_SECONDS, DRAINED_S, QUICK_ALONE_SECONDS
from bench.device_channel import disk
from bench.table import Figure
from confluent_kafka import Producer
from tests.support import brokers, bus_messages

from tripline.domain.ids import TimeIds
from tripline.wire.bus import envelopes as bus_envelopes

AGGREGATES, QUICK_AGGREGATES = 40_000, 4_000
POINTS: Final = 30
TO_A_TRIP: Final = 20
"""Aggregates: a drive of ten minutes."""
VEHICLES: Final = 200
PARTITIONS: Final = 6
GROUP: Final = "tripline"
TOPICS: Final = (bus_envelopes.MICROTRIPS, bus_envelopes.TRIPS, bus_envelopes.EVENTS)
FIRST_MS: Final = 1_735_689_600_000
Of = tuple[str, str, str]
"""Ids of a sensor, its vehicle and its company."""
_IDS: Final = "SELECT id, vehicle_id, company_id FROM sensor ORDER BY credentials_id"


@dataclass(frozen=True, slots=True)
class Stored:
    """What was stored of the messages, how fast, and who used how much."""

    messages: int
    seconds: float
    cores: dict[str, float]

    def figures(self, row: str, points: float) -> list[Figure]:
        """Messages and points a second."""
        per_s = self.messages / self.seconds
        return [
            Figure(row=row, name="messages/s", value=per_s, detail={"seconds": self.seconds, **self.cores}),
            Figure(row=row, name="points/s", value=per_s * points),
        ]


def measure(quick: bool, *, scale: float = 1.0) -> list[Figure]:
    """The rates of a worker and of the command, of a reader and of COPY. `scale`: of the number of messages."""
    aggregates = max(TO_A_TRIP, int((QUICK_AGGREGATES if quick else AGGREGATES) * scale)) // TO_A_TRIP * TO_A_TRIP
    alone_s = QUICK_ALONE_SECONDS if quick else ALONE_SECONDS
    with shared.database() as database, shared.broker() as broker, tempfile.TemporaryDirectory(dir=disk()) as made:
        folder = Path(made)
        fleet.make_on(database.url(shared.DATABASE), VEHICLES)
        whose = database.run(_IDS, database=shared.DATABASE)
        _produce(broker, _messages(whose, aggregates))
        consumed = alone.consumed(broker, TOPICS)
        stored = _worked(folder, database, broker)
        trips = shared.count(database, "trip WHERE source = 'bus' AND end_ms IS NOT NULL")
        shared.check(database, acknowledged=aggregates)
        if trips != aggregates // TO_A_TRIP:
            raise RuntimeError(f"{aggregates // TO_A_TRIP} trips were sent, {trips} are stored")
        batch = shared.messages_in_a_commit(database)
        copied = alone.copied(database, batch=max(1, round(batch)), seconds=alone_s)
        ingested = _ingested(folder / "embedded", aggregates)
    points = POINTS * TO_A_TRIP / (TO_A_TRIP + 1)
    worker, command = (f"19 aggregates of {POINTS} points, {name}" for name in ("a worker", "`tripline ingest`"))
    return [
        *stored.figures(worker, points),
        *(Figure(row=worker, name=f"{name}, cores", value=used) for name, used in stored.cores.items()),
        Figure(row=worker, name="a reader alone, messages/s", value=consumed.per_s, detail=consumed.detail),
        Figure(row=worker, name="microtrips in a commit", value=batch),
        Figure(row=worker, name="COPY alone, such batches, rows/s", value=copied.per_s, detail=copied.detail),
        *ingested.figures(command, points),
    ]


def _messages(whose: Sequence[Any], aggregates: int) -> Iterator[tuple[str, Of, bytes]]:
    """Every message with its topic and whose it is; vehicles take turns, each its trips one after the other."""
    ids, created_ms = TimeIds(node=0xB05), int(time.time() * 1000) - 86_400_000
    for number in range(aggregates // TO_A_TRIP // len(whose) + 1):
        begin_ms = FIRST_MS + number * 3_600_000
        left = min(len(whose), aggregates // TO_A_TRIP - number * len(whose))
        known = [(whose[place], ids.next(now_ms=created_ms)) for place in range(left)]
        for part in range(TO_A_TRIP):
            for of, trip_id in known:
                at_ms = begin_ms + part * POINTS * 1_000
                payload = [_sample(at_ms + second * 1_000, part * POINTS + second) for second in range(POINTS)]
                more = {"ts": payload[-1]["clt"], "createdTime": payload[-1]["clt"] + 500}
                own = {"microTripId": ids.next(now_ms=created_ms), "tripId": trip_id, **_who(of)}
                yield bus_envelopes.MICROTRIPS, of, _bytes(bus_messages.microtrip(payload, **more, **own))
        for of, trip_id in known:
            end_ms = begin_ms + (TO_A_TRIP * POINTS - 1) * 1_000
            times = {"startTs": begin_ms, "endTs": end_ms, "createdTime": end_ms + 500}
            yield bus_envelopes.TRIPS, of, _bytes(bus_messages.trip(**times, tripId=trip_id, **_who(of)))


def _sample(at_ms: int, second: int) -> dict[str, Any]:
    place = {"lat": round(37.497952 + 0.000111 * second, 6), "lon": round(127.027619 + 0.000137 * second, 6)}
    return bus_messages.sample(at_ms, sp=38 + second % 17, **place)


def _who(of: Of) -> dict[str, str]:
    return dict(zip(("sensorId", "vehicleId", "companyId"), of, strict=True))


def _bytes(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def _produce(broker: brokers.Cluster, messages: Iterator[tuple[str, Of, bytes]]) -> None:
    for topic in TOPICS:
        broker.make_topic(topic, partitions=PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": "all", "linger.ms": 5, "log_level": 0})
    for topic, (sensor_id, *_), value in messages:
        while len(producer) > alone.QUEUE:
            producer.poll(0.01)
        producer.produce(topic, value, sensor_id.encode())
    if left := producer.flush(alone.WAIT_S):
        raise RuntimeError(f"{left} messages could not be written")


def _worked(folder: Path, database: Any, broker: brokers.Cluster) -> Stored:
    """A worker's work, from its first commit to its last."""
    own = {"variables": shared.variables(database, broker), "cores": shared.BOTH_CORES}
    with (
        shared.Backlog(broker, GROUP, *TOPICS) as backlog,
        peers.tripline(folder / "worker", "worker", **own) as worker,
    ):
        whole = sum(backlog.produced(topic) for topic in TOPICS)
        backlog.until(lambda left: left < whole, within_s=DRAINED_S)
        processes = {"postgres": database.pid, "broker": broker.brokers[0].pid, "worker": worker.pid}
        watch, first, began = shared.Watch(**processes), backlog.messages(), time.monotonic()
        backlog.until(lambda left: left == 0, within_s=DRAINED_S)
        return Stored(first, time.monotonic() - began, watch.cores())


def _ingested(data: Path, aggregates: int) -> Stored:
    """The command's work on a file with the same messages, for a fleet in SQLite."""
    fleet.make(data, VEHICLES)
    file, messages = data / "messages.jsonl", 0
    with file.open("wb") as lines:
        for _, _, message in _messages(fleet.rows(data, _IDS), aggregates):
            lines.write(message + b"\n")
            messages += 1
    before, began = os.times(), time.monotonic()
    command = [str(peers.installed()), "-m", "tripline", "ingest", str(file), "--data", str(data)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took, after = time.monotonic() - began, os.times()
    if done.returncode or fleet.stored(data) != aggregates:
        raise RuntimeError(f"{aggregates} were sent, {fleet.stored(data)} are stored: {done.stdout}{done.stderr}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Stored(messages, took, {"command": used / took})
