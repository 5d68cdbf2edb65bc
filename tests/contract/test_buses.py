"""Every bus, on a real broker: reads at least once, goes on behind what is stored, writes what is kept."""

import asyncio
import itertools
import random
import time

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs
from tests.support import brokers

from tripline import config
from tripline.adapters.kafka.reader import KafkaReader
from tripline.adapters.kafka.writer import KafkaWriter
from tripline.ports.bus import BusMessageRefusedError, BusNote
from tripline.ports.outages import Outage

pytestmark = pytest.mark.deep
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def bus(tmp_path_factory):
    brokers.need("what a bus does")
    with brokers.cluster(tmp_path_factory.mktemp("kafka")) as made:
        yield made


@pytest.fixture
def topic(bus):
    name = f"topic-{next(NUMBERS)}"
    bus.make_topic(name, partitions=3)
    return name


def settings(bus, **changed):
    return config.Bus(url=bus.url, **changed)


class Told:
    """Remembers what became of its messages."""

    def __init__(self):
        self.well, self.badly, self.calls = [], [], 0
        self.changed = asyncio.Event()

    def delivered(self, tickets):
        self.well += tickets
        self._count()

    def failed(self, tickets):
        self.badly += tickets
        self._count()

    def _count(self):
        self.calls += 1
        self.changed.set()

    async def settled(self, number):
        while len(self.well) + len(self.badly) < number:
            self.changed.clear()
            await self.changed.wait()


async def read(reader, number):
    """So many messages, each batch done as soon as it was read."""
    found = []
    while len(found) < number:
        batch = await reader.read()
        found += batch.messages
        reader.done(batch)
    return found


async def until(reached):
    def wait():
        while not reached():
            time.sleep(0.02)

    await asyncio.to_thread(wait)


async def test_what_was_written_is_read_once_whole_and_in_the_order_of_its_key(bus, topic):
    reader, writer = (KafkaReader(settings(bus), topics=[topic], group=topic), KafkaWriter(settings(bus)))
    notes = [BusNote(topic, b"sensor-%d" % (number % 5), b"%d" % number) for number in range(1_000)]
    await writer.deliver(notes)
    found = await read(reader, 1_000)
    await reader.close()
    await writer.close()

    assert sorted((message.topic, message.key, message.value) for message in found) == sorted(notes)
    for key in {note.key for note in notes}:
        assert [message.value for message in found if message.key == key] == [n.value for n in notes if n.key == key]
        assert len({message.partition for message in found if message.key == key}) == 1
    assert all(message.timestamp_ms > 1_700_000_000_000 for message in found)


async def test_message_without_key_and_body_is_read_as_it_is(bus, topic):
    reader = KafkaReader(settings(bus), topics=[topic], group=topic)
    bus.put(topic, [b""], partition=2)
    (message,) = await read(reader, 1)
    await reader.close()

    assert message[:5] == (topic, 2, 0, None, b"")


async def test_group_goes_on_behind_what_is_done(bus, topic):
    bus.put(topic, [b"%d" % number for number in range(25)], partition=0)
    reader = KafkaReader(settings(bus, batch=10), topics=[topic], group=topic)
    await read(reader, 10)
    await reader.close()

    assert bus.committed(topic, topic) == {0: 10}


async def test_batch_that_is_not_done_is_read_again(bus, topic):
    bus.put(topic, [b"%d" % number for number in range(25)], partition=0)
    reader = KafkaReader(settings(bus, batch=10), topics=[topic], group=topic)
    (await reader.read()), (await reader.read())
    await reader.close()
    again = KafkaReader(settings(bus, batch=10), topics=[topic], group=topic)
    found = await read(again, 25)
    await again.close()

    assert [message.offset for message in found] == list(range(25))


async def test_batch_done_before_an_earlier_one_waits_for_it(bus, topic):
    bus.put(topic, [b"%d" % number for number in range(25)], partition=0)
    reader = KafkaReader(settings(bus, batch=10), topics=[topic], group=topic)
    first, second = await reader.read(), await reader.read()
    reader.done(second)
    await read(reader, 5)
    before = await asyncio.to_thread(bus.committed, topic, topic)
    reader.done(first)
    await reader.close()

    assert (before, bus.committed(topic, topic)) == ({}, {0: 25})


async def test_batch_has_so_many_messages_at_most(bus, topic):
    bus.put(topic, [b"%d" % number for number in range(100)])
    reader = KafkaReader(settings(bus, batch=7), topics=[topic], group=topic)
    sizes = []
    while sum(sizes) < 100:
        batch = await reader.read()
        sizes.append(len(batch.messages))
        reader.done(batch)
    await reader.close()

    assert max(sizes) == 7


async def test_reader_that_is_not_read_pauses_stays_in_its_group_and_drops_nothing(bus, topic, monkeypatch):
    bus.put(topic, [b"%d" % number for number in range(50)], partition=0)
    monkeypatch.setattr("tripline.adapters.kafka.reader.PATIENCE_S", 0.1)

    reader = KafkaReader(settings(bus, batch=10), topics=[topic], group=topic)
    batch = await reader.read()
    await until(lambda: reader._paused_s is not None)
    bus.put(topic, [b"later"], partition=1)
    members = await asyncio.to_thread(lambda: bus.members(topic))
    held = reader.kept(batch)
    reader.done(batch)
    found = await read(reader, 41)
    await reader.close()

    assert held == batch
    assert members == 1
    assert [message.offset for message in found if message.partition == 0] == list(range(10, 50))
    assert [message.value for message in found if message.partition == 1] == [b"later"]


async def test_second_member_takes_over_partitions_and_nothing_is_missed_or_stored_by_both(bus, topic):
    """A rebalance under load: each message that was stored is stored once, for it waits for what is under way."""

    async def work(reader, stored, enough):
        while not enough.is_set():
            reading = asyncio.ensure_future(reader.read())
            stopping = asyncio.ensure_future(enough.wait())
            await asyncio.wait([reading, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not reading.done():
                reading.cancel()
                return
            await asyncio.sleep(0.003)  # the store takes its time
            batch = reader.kept(reading.result())
            stored += [(message.partition, message.offset) for message in batch.messages]
            reader.done(batch)

    writer, told, enough = KafkaWriter(settings(bus)), Told(), asyncio.Event()
    made = settings(bus, batch=20)
    readers = [KafkaReader(made, topics=[topic], group=topic)]
    stores = [[], []]
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work(readers[0], stores[0], enough))
        sent = 0
        while len(stores[1]) < 300:
            writer.send(BusNote(topic, b"%d" % (sent % 50), b"x"), told, sent)
            sent += 1
            while sent % 10 == 0:
                await asyncio.sleep(0.001)
                if sent - len(stores[0]) - len(stores[1]) < 1_000:  # no more than the broker can bear
                    break
            if sent == 1_000:
                readers.append(KafkaReader(made, topics=[topic], group=topic))
                tasks.create_task(work(readers[1], stores[1], enough))
        await told.settled(sent)
        await until(lambda: len(set(stores[0]) | set(stores[1])) >= sent)
        enough.set()
    for each in (*readers, writer):
        await each.close()
    (first, second) = stores

    assert len(first) + len(second) == len({*first, *second}) == sent
    for each in (first, second):
        for part in range(3):
            offsets = [offset for partition, offset in each if partition == part]
            assert offsets == sorted(offsets)


async def test_partition_that_another_member_took_is_neither_kept_nor_committed(bus, topic, monkeypatch):
    for part in range(3):
        bus.put(topic, [b"x"] * 30, partition=part)
    monkeypatch.setattr("tripline.adapters.kafka.reader.GIVE_UP_S", 0.1)

    reader = KafkaReader(settings(bus, batch=90), topics=[topic], group=topic)
    found = 0
    batches = []
    while found < 90:
        batches.append(await reader.read())
        found += len(batches[-1].messages)
    other = KafkaReader(settings(bus), topics=[topic], group=topic)
    taken = await other.read()
    lost = {message.partition for message in taken.messages}
    kept = [reader.kept(batch) for batch in batches]
    for batch in batches:
        reader.done(batch)
    await until(lambda: len(bus.committed(topic, topic)) == 3 - len(lost))
    committed = bus.committed(topic, topic)
    await reader.close()
    await other.close()

    assert lost
    assert {message.partition for batch in kept for message in batch.messages} == {0, 1, 2} - lost
    assert committed == dict.fromkeys({0, 1, 2} - lost, 30)


async def test_settled_messages_are_told_in_batches_each_once(bus, topic):
    writer, told = KafkaWriter(settings(bus)), Told()
    for number in range(5_000):
        writer.send(BusNote(topic, b"%d" % number, b"x" * 300), told, number)
    await told.settled(5_000)
    await writer.close()

    assert (sorted(told.well), told.badly) == (list(range(5_000)), [])
    assert told.calls < 500


async def test_message_that_is_too_long_for_the_brokers_is_refused_and_others_are_kept(bus, topic):
    writer = KafkaWriter(settings(bus))
    for long in (b"\xff" + bytes(2**23), bytes(range(256)) * 2**14):  # for the library, for the brokers
        with pytest.raises(BusMessageRefusedError):
            await writer.deliver([BusNote(topic, None, incompressible(long))])
    await writer.deliver([BusNote(topic, None, b"short")])
    await writer.close()

    assert [message.value() for message in bus.kept(topic)] == [b"short"]


def incompressible(body):
    return random.Random(1).randbytes(len(body))


async def test_no_more_than_the_bound_waits(bus, topic):
    writer, told = KafkaWriter(settings(bus, queue=10)), Told()
    sent, crowded = 0, []
    with pytest.raises(Outage, match="the queue is full"):
        for sent in range(11):
            crowded.append(writer.crowded)
            writer.send(BusNote(topic, b"k", b"x"), told, sent)
    await told.settled(sent)
    await writer.close()

    assert sent == 10
    assert crowded == [False] * 8 + [True] * 3
    assert told.well == list(range(10))


async def test_closing_writes_what_waits(bus, topic):
    writer, told = KafkaWriter(settings(bus)), Told()
    writer.send(BusNote(topic, b"k", b"x"), told, 1)
    await writer.close()
    await told.settled(1)

    assert told.well == [1]
    assert len(bus.kept(topic)) == 1


async def test_topic_that_is_made_later_is_read_then(bus):
    reader = KafkaReader(settings(bus), topics=["made-later"], group="made-later")
    await asyncio.to_thread(bus.make_topic, "made-later")
    bus.put("made-later", [b"x"])
    found = await read(reader, 1)
    await reader.close()

    assert [message.value for message in found] == [b"x"]


async def test_lag_is_shown_of_what_is_read_here(bus, topic, monkeypatch):
    shown = []
    bus.put(topic, [b"%d" % number for number in range(25)], partition=0)
    monkeypatch.setattr("tripline.adapters.kafka.reader.STATISTICS_MS", 100)

    reader = KafkaReader(settings(bus, batch=10), topics=[topic], group=topic)
    reader.done(await reader.read())
    # Read while the partition is this reader's: figures that come while it closes leave it out.
    await until(lambda: shown.append(REGISTRY.get_sample_value("tripline_bus_lag", {"topic": topic})) or shown[-1])
    await reader.close()

    assert shown[-1] in {15, 25}
    assert REGISTRY.get_sample_value("tripline_bus_read_total", {"topic": topic}) >= 10


async def test_writer_whose_library_gave_up_is_made_anew_and_writes_on(bus, topic):
    writer = KafkaWriter(settings(bus))
    await writer.deliver([BusNote(topic, b"k", b"before")])
    gave_up = writer._producer
    writer._troubles.fatal = True
    await until(lambda: writer._producer is not gave_up)
    await writer.deliver([BusNote(topic, b"k", b"after")])
    await writer.close()

    assert [message.value() for message in bus.kept(topic)] == [b"before", b"after"]


async def test_reader_whose_library_gave_up_is_made_anew_and_reads_again_what_was_not_done(bus, topic):
    bus.put(topic, [b"%d" % number for number in range(25)], partition=0)
    reader = KafkaReader(settings(bus, batch=10), topics=[topic], group=topic)
    first, second = await reader.read(), await reader.read()
    reader.done(first)
    reader._troubles.fatal = True
    found = []
    while 10 not in found or found[-1] != 24:  # a batch that lay ready may come before it begins anew
        found += [message.offset for message in (await reader.read()).messages]
    kept = reader.kept(second)
    await reader.close()

    assert found[-15:] == list(range(10, 25))
    assert kept.messages == []


async def test_batch_may_be_read_in_pieces_and_the_group_goes_on_behind_each(bus, topic):
    bus.put(topic, [b"%d" % number for number in range(10)], partition=0)
    reader = KafkaReader(settings(bus, batch=10), topics=[topic], group=topic)
    pieces = [await reader.read(4) for _ in range(3)]
    for piece in pieces[:2]:
        reader.done(piece)
    await until(lambda: bus.committed(topic, topic) == {0: 8})
    await reader.close()

    assert [[message.offset for message in piece.messages] for piece in pieces] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
    ]
    assert [piece.came for piece in pieces] == [True, False, False]


async def test_what_is_skipped_is_neither_read_nor_fetched_and_the_group_goes_on_behind_it(bus, topic):
    bus.put(topic, [b"x"] * 10_000, partition=0)
    before = REGISTRY.get_sample_value("tripline_bus_read_total", {"topic": topic}) or 0
    reader = KafkaReader(settings(bus, batch=10), topics=[topic], group=topic)
    first = await reader.read()
    reader.skip({(topic, 0): 9_000})
    reader.done(first)
    found = await read(reader, 1_000)
    await until(lambda: bus.committed(topic, topic) == {0: 10_000})
    await reader.close()
    offsets = [message.offset for message in found]
    fetched = REGISTRY.get_sample_value("tripline_bus_read_total", {"topic": topic}) - before

    assert offsets == list(range(9_000, 10_000))
    assert fetched < 1_100, "read from where it began"


async def test_reader_that_pauses_says_for_what_and_for_how_long(bus, topic, monkeypatch):
    bus.put(topic, [b"%d" % number for number in range(25)], partition=0)
    monkeypatch.setattr("tripline.adapters.kafka.reader.PATIENCE_S", 0.1)
    monkeypatch.setattr("tripline.adapters.kafka.reader.TOLD_S", 0.2)

    reader = KafkaReader(settings(bus, batch=10), topics=[topic], group=topic)
    reader.explain(lambda: "redelivery")
    with capture_logs() as logged:
        batch = await reader.read(4)
        await until(lambda: any(line["event"] == "bus.paused" for line in logged))
        reader.done(batch)
        await read(reader, 21)
        await until(lambda: any(line["event"] == "bus.resumed" for line in logged))
    await reader.close()
    paused, resumed = [line for line in logged if line["event"] in ("bus.paused", "bus.resumed")]

    held = {name: paused[name] for name in ("group", "reason", "messages", "ahead", "partitions")}
    assert held == {"group": topic, "reason": "redelivery", "messages": 4, "ahead": 6, "partitions": 3}
    assert 0.2 <= paused["paused_s"] <= resumed["paused_s"]
