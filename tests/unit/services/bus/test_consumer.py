"""The bus consumer: stored first, dead letters next, then the group goes on; outages cost time and no message."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.support.bus_messages import microtrip, sample, trip
from tests.support.bus_rig import BusRig
from tests.support.ingest_rig import COMPANY, NOW, SENSOR
from tests.support.ingest_rig import microtrip as of_device

from tripline.config.bus import Carried
from tripline.domain.ids import CompanyId
from tripline.ports.bus import BusBatch, BusMessage, BusMessageRefusedError, BusNote
from tripline.ports.outages import Outage
from tripline.services import batch_tries
from tripline.services.bus.consumer import BusConsumer
from tripline.services.ingest import steps
from tripline.store import tables

TOPICS = {"sf-microtrip": Carried("microtrip"), "acme.sf-trip": Carried("trip", CompanyId(COMPANY))}
OTHER = "99999999-0000-11ef-8000-000000000009"


@dataclass
class Bus:
    """A reader and writer that note in which order they are asked; the contract of both is in `tests/contract`."""

    batch: BusBatch
    store: Any = None
    letters: list[dict[str, Any]] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    outages: int = 0
    longest: int = 2**20
    mine: bool = True

    async def read(self, most: int | None = None) -> BusBatch:
        return self.batch

    def explain(self, doing: Any) -> None:
        self.doing = doing

    def kept(self, batch: BusBatch) -> BusBatch:
        if self.store is not None:
            self.store.away = self.outages > 0
            self.outages -= 1
        return batch if self.mine else BusBatch([], 1, {})

    def done(self, batch: BusBatch) -> None:
        self.steps.append(f"done {len(batch.messages)}")

    async def deliver(self, notes: Sequence[BusNote]) -> None:
        if self.store is None and self.outages > 0:
            self.outages -= 1
            raise Outage("no brokers")
        if any(len(note.value) > self.longest for note in notes):
            raise BusMessageRefusedError("too long")
        self.steps.append(f"letters {len(notes)}")
        self.letters += [json.loads(note.value) for note in notes]


def batch(*contents: Any, topic: str = "sf-microtrip") -> BusBatch:
    bodies = [content if isinstance(content, bytes) else json.dumps(content).encode() for content in contents]
    return BusBatch([BusMessage(topic, 3, 40 + at, None, body, 0) for at, body in enumerate(bodies)], 1, {})


def turn(rig: BusRig, bus: Bus, dead_letters: str = "dead") -> None:
    consumer = BusConsumer(
        reader=bus,
        writer=bus,  # type: ignore[arg-type]  # what the consumer asks of it
        batches=rig.batches,
        topics=TOPICS,
        dead_letters=dead_letters,
        clock=lambda: rig.now_ms,
        most=100,
    )
    rig.run(asyncio.wait_for(consumer.turn(), 20))


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outages cost no time here."""
    monkeypatch.setattr(batch_tries, "PAUSES_S", (0.0,))


def test_batch_is_stored_then_its_letters_are_written_then_it_is_done(rig):
    bus = Bus(batch(microtrip(), b"nonsense", microtrip(sensorId=OTHER)))

    turn(rig, bus)

    assert len(rig.rows(tables.microtrip)) == 1
    assert bus.steps == ["letters 2", "done 3"]
    assert [(each["reason"], each["offset"], each["partition"]) for each in bus.letters] == [
        ("not_json", 41, 3),
        ("unknown_sensor", 42, 3),
    ]
    assert bus.letters[0]["body"] == "nonsense"


def test_message_that_is_no_text_is_in_its_letter_as_base64(rig):
    bus = Bus(batch(b"\xff\xfe"))

    turn(rig, bus)

    assert (bus.letters[0]["bodyBase64"], "body" in bus.letters[0]) == ("//4=", False)


def test_without_a_topic_for_dead_letters_the_log_has_them(rig):
    bus = Bus(batch(b"nonsense"))

    turn(rig, bus, dead_letters="")

    assert bus.steps == ["done 1"]
    assert rig.rows(tables.rejected_message, "topic", "bus_partition", "bus_offset", "reason", "body") == [
        ("sf-microtrip", 3, 40, "not_json", b"nonsense")
    ]


def test_store_that_is_away_is_waited_for(rig):
    bus = Bus(batch(microtrip()), store=rig.store, outages=3)

    turn(rig, bus)

    assert bus.steps == ["done 1"]
    assert len(rig.rows(tables.microtrip)) == 1


def test_brokers_that_are_away_are_waited_for_and_the_log_has_the_message_once(rig):
    bus = Bus(batch(b"nonsense"), outages=3)

    turn(rig, bus)

    assert bus.steps == ["letters 1", "done 1"]
    assert len(rig.rows(tables.rejected_message)) == 1


def test_letter_that_is_too_long_for_the_brokers_has_the_beginning(rig):
    bus = Bus(batch(b"x" * 20_000, b"short"), longest=10_000)

    turn(rig, bus)

    assert [(len(each["body"]), each.get("cut", False)) for each in bus.letters] == [(4_096, True), (5, False)]


def test_letter_that_the_brokers_never_take_does_not_hold_up_the_others(rig):
    bus = Bus(batch(b"x"), longest=10)

    turn(rig, bus)

    assert bus.steps == ["done 1"]


def test_batch_of_partitions_that_moved_away_is_left_to_their_member(rig):
    bus = Bus(batch(microtrip()), mine=False)

    turn(rig, bus)

    assert (bus.steps, rig.rows(tables.trip)) == (["done 1"], [])


def test_topic_says_whose_messages_it_carries(rig):
    bus = Bus(batch(trip(), topic="acme.sf-trip"))

    turn(rig, bus)

    assert rig.rows(tables.trip, "state") == ["COMPLETE"]


def test_devices_own_message_that_cannot_be_used_is_a_dead_letter_too(rig):
    bus = Bus(batch({"ty": 50, "ts": NOW, "pld": {}, "sensorId": SENSOR}, {"ty": 2, "ts": NOW, "pld": 7}))

    turn(rig, bus)

    assert bus.steps == ["letters 2", "done 2"]
    assert [(each["reason"], each["offset"]) for each in bus.letters] == [("no_sensor", 41), ("unknown_type", 40)]
    assert json.loads(bus.letters[1]["body"])["sensorId"] == SENSOR
    assert sorted(rig.rows(tables.rejected_message, "source", "reason")) == [
        ("bus", "no_sensor"),
        ("device", "unknown_type"),
    ]


def test_devices_own_messages_wait_for_a_store_that_is_away(rig):
    bus = Bus(batch({**of_device(NOW), "sensorId": SENSOR}, microtrip()), store=rig.store, outages=2)

    turn(rig, bus)

    assert bus.steps == ["done 2"]
    assert sorted(rig.rows(tables.trip, "source")) == ["bus", "device"]


def test_batch_that_the_store_gives_up_is_stored_in_smaller_ones(rig):
    taken, take_in = [], rig.batches.take_in

    async def gives_up(messages, *, now_ms):
        taken.append(len(messages))
        if len(messages) > 30:
            raise Outage("The batch took too long.")
        return await take_in(messages, now_ms=now_ms)

    rig.batches.take_in = gives_up
    bus = Bus(batch(*(microtrip([sample(NOW + at)], microTripId=None, ts=NOW + at) for at in range(60)), b"nonsense"))

    turn(rig, bus)

    assert taken[:3] == [61, 50, 25]
    assert len(rig.rows(tables.microtrip)) == 60
    assert bus.steps == ["letters 1", "done 61"]


def test_slow_batch_is_logged_with_the_step_that_took_the_time(rig, monkeypatch):
    monkeypatch.setattr(steps, "SLOW_S", 0.05)
    write = rig.store.write

    async def slow(work, **more):
        await asyncio.sleep(0.1)
        return await write(work, **more)

    rig.store.write = slow

    with capture_logs() as logged:
        turn(rig, Bus(batch(microtrip())))

    (line,) = [each for each in logged if each["event"] == "ingest.slow"]
    assert (line["kind"], line["reason"], line["messages"]) == ("bus", "commit", 1)
