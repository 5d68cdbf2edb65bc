"""A reader's process is killed while it works: the next one goes on behind what was stored, and misses nothing."""

import subprocess
import sys
from contextlib import contextmanager

import pytest
from tests.support import brokers, waits

pytestmark = pytest.mark.deep

TOPIC = "killed"
PATIENCE_S = 90
READER = """
import asyncio, os, sys
from tripline import config
from tripline.adapters.kafka.reader import KafkaReader

async def play(url, group, store):
    reader = KafkaReader(config.Bus(url=url, batch=20), topics=["killed"], group=group)
    with open(store, "a") as rows:
        while True:
            batch = reader.kept(await reader.read())
            rows.writelines(f"{message.partition} {message.offset}\\n" for message in batch.messages)
            rows.flush()
            os.fsync(rows.fileno())
            reader.done(batch)
            await asyncio.sleep(0.005)

asyncio.run(play(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def bus(tmp_path_factory):
    brokers.need("what a reader that was killed leaves behind")
    with brokers.cluster(tmp_path_factory.mktemp("kafka")) as made:
        made.make_topic(TOPIC, partitions=2)
        yield made


@contextmanager
def reading(bus, store):
    """A reader's process, which is killed in the end."""
    with subprocess.Popen([sys.executable, "-c", READER, bus.url, TOPIC, str(store)]) as process:
        try:
            yield
            assert process.poll() is None
        finally:
            process.kill()


def rows(store):
    if not store.exists():
        return []
    text = store.read_text()
    return [tuple(map(int, line.split())) for line in text[: text.rfind("\n") + 1].splitlines()]


@pytest.mark.slow
def test_killed_reader_is_followed_by_one_that_misses_nothing(bus, tmp_path):
    for part in (0, 1):
        bus.put(TOPIC, [b"%d" % number for number in range(1_000)], partition=part)
    first_store, second_store = tmp_path / "first", tmp_path / "second"

    with reading(bus, first_store):
        waits.seen(lambda: len(rows(first_store)) >= 400, within_s=PATIENCE_S)
    before = rows(first_store)
    committed = bus.committed(TOPIC, TOPIC)
    everything = {(part, offset) for part in (0, 1) for offset in range(1_000)}
    with reading(bus, second_store):
        waits.seen(lambda: set(before) | set(rows(second_store)) == everything, within_s=PATIENCE_S)

    after = rows(second_store)
    assert 0 < sum(committed.values()) <= len(before)
    for part in (0, 1):
        stored, again = ([offset for p, offset in each if p == part] for each in (before, after))
        assert stored == list(range(len(stored)))
        assert again == list(range(again[0], 1_000))
        # A commit that was on its way when its sender died may count later than we asked.
        assert committed.get(part, 0) <= again[0] <= len(stored), "nothing is committed before it is stored"
