"""Customers' producers in Java, of the releases that docs/bus.md names: every codec, and transactions.

The usual suite does not run this: it needs the jars of two releases and a Java compiler.
"""

import asyncio
import itertools
import subprocess

import pytest
from tests.support import brokers, required

from tripline import config
from tripline.adapters.kafka.reader import KafkaReader

pytestmark = pytest.mark.deep

PATIENCE_S = 90
RELEASES = {brokers.PRESENT: "4.1.1", "3.9": "3.9.1"}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
NUMBERS = itertools.count()
LINES = [f'{{"sensorId":"가-{number}","pad":"{"x" * number}"}}' for number in range(300)]


@pytest.fixture(scope="module")
def bus(tmp_path_factory):
    for release in RELEASES:
        brokers.need("producers of several releases", release=release)
    required.need("javac", "producers of several releases")
    with brokers.cluster(tmp_path_factory.mktemp("kafka")) as made:
        yield made


def written(release, bus, topic, codec, how):
    """Version of the library that wrote the lines, and how many the brokers have taken."""
    command = ["java", "-cp", brokers.jars(release), str(brokers.HERE / "Write.java"), bus.bootstrap, topic, codec, how]
    done = subprocess.run(command, input="\n".join(LINES).encode(), capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr.decode()
    version, number = done.stdout.split()[-2:]
    return version.decode(), int(number)


async def read(bus, topic):
    reader = KafkaReader(config.Bus(url=bus.url), topics=[topic], group=topic)
    found = []
    async with asyncio.timeout(PATIENCE_S):
        while len(found) < len(LINES):
            batch = await reader.read()
            found += [message.value.decode() for message in batch.messages]
            reader.done(batch)
    await reader.close()
    return found


@pytest.mark.parametrize("release", list(RELEASES), ids=list(RELEASES.values()))
@pytest.mark.parametrize("codec", CODECS)
def test_what_a_java_producer_writes_is_read_whole_and_in_order(bus, release, codec):
    topic = f"from-java-{next(NUMBERS)}"
    bus.make_topic(topic, partitions=3)

    assert written(release, bus, topic, codec, "plain") == (RELEASES[release], len(LINES))
    assert asyncio.run(read(bus, topic)) == LINES


@pytest.mark.parametrize("release", list(RELEASES), ids=list(RELEASES.values()))
def test_what_a_java_producer_writes_in_a_transaction_is_read(bus, release):
    topic = f"from-java-{next(NUMBERS)}"
    bus.make_topic(topic)

    assert written(release, bus, topic, "lz4", "transaction") == (RELEASES[release], len(LINES))
    assert asyncio.run(read(bus, topic)) == LINES
