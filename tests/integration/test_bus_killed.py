"""A reader's process is killed while it works: the next one goes on behind what was stored, and misses nothing."""

import subprocess
import sys
import time

import pytest
from tests.support import brokers

TOPIC = "killed"
PATIENCE_S = 90
READER = """
import asyncio, os, sys
from tripline import config
from tripline.adapters.bus_kafka_reader import KafkaReader

async def play(url, group, store, enough):
    reader = KafkaReader(config.Bus(url=url, batch=20), topics=["killed"], group=group)
    stored = 0
    with open(store, "a") as rows:
        while stored < enough:
            batch = reader.kept(await reader.read())
            rows.writelines(f"{message.partition} {message.offset}\\n" for message in batch.messages)
            rows.flush()
            os.fsync(rows.fileno())
            reader.done(batch)
            stored += len(batch.messages)
            await asyncio.sleep(0.005)
    await reader.close()

asyncio.run(play(*sys.argv[1:4], int(sys.argv[4])))
"""


@pytest.fixture(scope="module")
def bus(tmp_path_factory):
    brokers.need("what a reader that was killed leaves behind")
    with brokers.cluster(tmp_path_factory.mktemp("kafka")) as made:
        made.make_topic(TOPIC, partitions=2)
        yield made


def started(bus, store, enough):
    return subprocess.Popen([sys.executable, "-c", READER, bus.url, TOPIC, str(store), str(enough)])


def rows(store):
    if not store.exists():
        return []
    text = store.read_text()
    return [tuple(map(int, line.split())) for line in text[: text.rfind("\n") + 1].splitlines()]


def until(reached):
    end = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_reader_is_followed_by_one_that_misses_nothing(bus, tmp_path):
    for part in (0, 1):
        bus.put(TOPIC, [b"%d" % number for number in range(1_000)], partition=part)
    first_store, second_store = tmp_path / "first", tmp_path / "second"

    first = started(bus, first_store, 10_000)
    until(lambda: len(rows(first_store)) >= 400)
    first.kill()
    first.wait(PATIENCE_S)
    before = rows(first_store)
    committed = bus.committed(TOPIC, TOPIC)
    behind = {part: max((offset for p, offset in before if p == part), default=-1) + 1 for part in (0, 1)}
    second = started(bus, second_store, 2_000 - sum(committed.values()))

    assert second.wait(PATIENCE_S) == 0
    after = rows(second_store)
    everything = {(part, offset) for part in (0, 1) for offset in range(1_000)}
    assert set(before) | set(after) == everything
    assert 0 < sum(committed.values()) <= len(before)
    assert all(committed[part] <= behind[part] for part in committed), "nothing is committed before it is stored"
    assert sorted(after) == sorted(p for p in everything if p[1] >= committed.get(p[0], 0))
    for each in (before, after):
        for part in (0, 1):
            offsets = [offset for p, offset in each if p == part]
            assert offsets == sorted(set(offsets))
