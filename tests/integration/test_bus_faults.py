"""A cluster of three: nodes are killed and come back, nothing acknowledged is lost, and away is away in time."""

import asyncio
import random
import time
from contextlib import suppress

import pytest
from tests.support import brokers

from tripline import config
from tripline.adapters.kafka import reader as kafka_reader
from tripline.adapters.kafka import topics
from tripline.adapters.kafka.reader import KafkaReader
from tripline.adapters.kafka.writer import MESSAGE_BYTES, KafkaWriter
from tripline.ports.bus import BusNote
from tripline.ports.outages import Outage

pytestmark = [pytest.mark.deep, pytest.mark.slow]
PATIENCE_S = 200
HIT_S = 0.7
"""So long messages go on quickly behind a kill."""


@pytest.fixture(scope="module")
def bus(tmp_path_factory):
    brokers.need("what a bus does when its nodes are killed")
    with brokers.cluster(tmp_path_factory.mktemp("kafka"), nodes=3) as made:
        yield made


@pytest.fixture(autouse=True)
def _all_nodes_up(bus):
    yield
    for broker in bus.brokers:
        if broker.ended():
            broker.start()
    bus.ready()


def whole(playing):
    async def timed():
        async with asyncio.timeout(PATIENCE_S):
            return await playing

    return asyncio.run(timed())


class Told:
    def __init__(self):
        self.well, self.badly = [], []

    def delivered(self, tickets):
        self.well += tickets

    def failed(self, tickets):
        self.badly += tickets


async def until(reached):
    def wait():
        while not reached():
            time.sleep(0.02)

    await asyncio.to_thread(wait)


async def until_taken(writer, note):
    """A cluster of which nodes just came back may take its time; what was given up may be kept all the same."""
    while True:
        with suppress(Outage, TimeoutError):
            return await writer.deliver([note])


def test_killed_node_of_three_loses_nothing_acknowledged_and_keeps_the_order_of_keys(bus):
    """Messages go on while the node dies and comes back; a reader in the same time misses none. Each node leads one
    partition and follows the leaders of the others."""
    topic = "killed"
    bus.make_topic(topic, partitions=3)
    node = bus.leader(topic)

    async def write(writer, told, calm, enough):
        number = 0
        while not enough.is_set():
            writer.send(BusNote(topic, b"sensor-%d" % (number % 7), b"%d" % number), told, number)
            number += 1
            await asyncio.sleep(0.02 if calm.is_set() else 0.001)
        await until(lambda: len(told.well) + len(told.badly) == number)

    async def read(reader, found):
        while True:
            batch = await reader.read()
            found += [int(message.value) for message in batch.messages]
            reader.done(batch)

    async def play():
        made = config.Bus(url=bus.url, timeout_s=60)
        writer, reader = KafkaWriter(made), KafkaReader(made, topics=[topic], group=topic)
        told, found, calm, enough = Told(), [], asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(write(writer, told, calm, enough))
            reading = tasks.create_task(read(reader, found))
            await until(lambda: len(found) > 500)
            node.kill()
            at_kill = len(told.well)
            await asyncio.sleep(HIT_S)
            calm.set()  # that it is missed takes seconds, and so does its start: nothing is to be hit in them
            await until(lambda: len(told.well) > at_kill + 300)
            node.start()
            await asyncio.to_thread(bus.in_sync, topic)
            calm.clear()
            at_return = len(told.well)
            await until(lambda: len(told.well) > at_return + 500)
            enough.set()
            await writing
            await until(lambda: set(told.well) <= set(found))
            reading.cancel()
        await reader.close()
        await writer.close()
        return told, found

    told, found = whole(play())

    assert told.badly == []
    assert sorted(told.well) == list(range(len(told.well)))
    kept = bus.kept(topic)
    stored = [int(message.value()) for message in kept]
    assert {message.partition() for message in kept} == {0, 1, 2}
    assert sorted(stored) == sorted(told.well), "each once"
    for key in range(7):
        of_key = [number for number in stored if number % 7 == key]
        assert of_key == sorted(of_key)
    assert set(found) == set(stored)


def test_cluster_that_is_away_is_an_outage_in_time_but_a_patient_writer_drops_nothing_and_keeps_the_order(bus):
    """Two of three are down: the third may not take messages alone. What was refused was not kept in silence.

    A message that was given up while the next one is taken would be stored behind it when it is sent again."""
    topic = "away"
    bus.make_topic(topic, partitions=1)
    down = [broker for broker in bus.brokers if broker is not bus.leader(topic)]

    async def refused(writer):
        began = time.monotonic()
        with pytest.raises(Outage):
            await writer.deliver([BusNote(topic, b"k", b"meanwhile")])
        return time.monotonic() - began

    async def patience(writer, told):
        for number in range(30):
            writer.send(BusNote(topic, b"patient", b"%d" % number), told, number)
            await asyncio.sleep(0.1)

    async def play():
        writer = KafkaWriter(config.Bus(url=bus.url, timeout_s=3, queue=100))
        patient, told = KafkaWriter(config.Bus(url=bus.url, timeout_s=1), patient=True), Told()
        await until_taken(writer, BusNote(topic, b"k", b"before"))
        await until_taken(patient, BusNote(topic, b"patient", b"before"))
        for broker in down:
            broker.kill()
        took, _ = await asyncio.gather(refused(writer), patience(patient, told))
        at_return = list(told.well)
        for broker in down:
            broker.start()
        await asyncio.to_thread(bus.ready)
        await asyncio.to_thread(bus.in_sync, topic)
        await until_taken(writer, BusNote(topic, b"k", b"after"))
        await until(lambda: len(told.well) + len(told.badly) == 30)
        await writer.close()
        await patient.close()
        return took, at_return, told

    took, at_return, told = whole(play())

    assert 2.5 < took < 8
    assert at_return == told.badly == []
    assert told.well == list(range(30))
    kept = bus.kept(topic)
    values = [message.value() for message in kept if message.key() == b"k"]
    assert values[0] == b"before"
    assert values[-1] == b"after"
    kept_patiently = [message.value() for message in kept if message.key() == b"patient"]
    assert kept_patiently[0] == b"before"
    assert [value for value in kept_patiently if value != b"before"] == [b"%d" % number for number in range(30)]


def test_without_any_node_a_queue_fills_then_refuses_at_once_and_readers_wait_until_there_is_one_and_miss_nothing(bus):
    """One reader comes when there is none, and another one's reading pauses then: paused is what the library calls a
    partition, and it remembers that beyond the loss of it."""
    values = [b"%d" % number for number in range(100)]
    for topic in ("nobody", "early", "paused"):
        bus.make_topic(topic)
    bus.put("early", [b"x"])
    bus.put("paused", values)

    async def write(writer, told):
        sent = 0
        began = time.monotonic()
        with pytest.raises(Outage):
            while True:
                writer.send(BusNote("nobody", b"k", b"x"), told, sent)
                sent += 1
        took, crowded = time.monotonic() - began, writer.crowded
        await until(lambda: len(told.badly) == sent)
        return sent, took, crowded, time.monotonic() - began

    async def play():
        writer, told = KafkaWriter(config.Bus(url=bus.url, timeout_s=2, queue=50)), Told()
        await until_taken(writer, BusNote("nobody", b"k", b"before"))
        pausing = KafkaReader(config.Bus(url=bus.url, batch=10), topics=["paused"], group="paused")
        under_way = await pausing.read()
        await asyncio.sleep(2 * kafka_reader.PATIENCE_S)  # nobody takes the next batch: reading pauses
        for broker in bus.brokers:
            broker.kill()
        written = await write(writer, told)
        await writer.close()
        await until(lambda: not pausing.kept(under_way).messages)
        early = KafkaReader(config.Bus(url=bus.url), topics=["early"], group="early")
        reading = asyncio.ensure_future(early.read())
        done, _ = await asyncio.wait([reading], timeout=1)
        assert not done
        for broker in bus.brokers:
            broker.start()
        batch = await reading
        await early.close()
        found = []
        while set(found) != set(values):
            later = await pausing.read()
            found += [message.value for message in later.messages]
            pausing.done(later)
        await pausing.close()
        return written, told.well, batch, found

    (sent, took, crowded, settled_after), well, batch, found = whole(play())

    assert sent == 50
    assert took < 1
    assert crowded
    assert settled_after < 6
    assert well == []
    assert [message.value for message in batch.messages] == [b"x"]
    assert found == values


def test_topics_of_our_own_are_made_once_as_the_settings_say(bus):
    made = config.Bus(url=bus.url, buffer_devices=True, buffer_topic="ours", buffer_partitions=5, replicas=3)

    whole(topics.make(made))
    whole(topics.make(config.Bus(url=bus.url, buffer_devices=True, buffer_topic="ours", buffer_partitions=9)))

    assert bus.replicas("ours") == [3] * 5
    assert bus.replicas(made.dead_letters) == [3]


def test_message_as_long_as_the_writer_tries_fits_into_the_buffer_topic(bus):
    made = config.Bus(url=bus.url, buffer_devices=True, buffer_topic="long", replicas=3)

    async def play():
        await topics.make(made)
        writer = KafkaWriter(made)
        await writer.deliver([BusNote("long", b"k", random.Random(1).randbytes(MESSAGE_BYTES - 1_000))])
        await writer.close()

    whole(play())

    assert [len(message.value()) for message in bus.kept("long")] == [MESSAGE_BYTES - 1_000]


def test_topics_that_cannot_be_made_are_an_outage(bus):
    made = config.Bus(url=bus.url, buffer_devices=True, buffer_topic="too-many", replicas=4)

    with pytest.raises(Outage, match=r"too-many .* could not be created"):
        whole(topics.make(made))
    with pytest.raises(Outage):
        whole(topics.make(config.Bus(url="kafka://127.0.0.1:9", timeout_s=1)))
