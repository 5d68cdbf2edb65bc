"""The rates of store and broker without Tripline, in the same run: rows by COPY, messages by librdkafka.

They get what Tripline wrote: rows out of its table in transactions of the same size, frames out of its topic under the
same settings of the producer. The loop around them is Python, as small as it can be; its own share is in the detail.
"""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from bench import shared
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.support import brokers, postgres

from tripline.adapters.kafka import writer
from tripline.domain import ids
from tripline.store import migrate

ROWS: Final = 100_000
"""Rows and frames that are taken as a pattern, and written again and again."""
DATABASE: Final = "alone"
QUEUE: Final = 20_000
WAIT_S: Final = 60
PARTITIONS: Final = 12
FETCHED: Final = 1_000
Frame = tuple[bytes | None, bytes]
"""Key and value."""


@dataclass(frozen=True, slots=True)
class Alone:
    """How many a second, and cores by who used them (`loop`: ours)."""

    per_s: float
    detail: dict[str, Any]


def copied(cluster: postgres.Cluster, *, batch: int, seconds: float) -> Alone:
    """Rows a second that PostgreSQL takes in COPYs of one transaction each, over one connection."""
    asked = f"COPY (SELECT * FROM microtrip LIMIT {ROWS}) TO STDOUT"
    with cluster.connect(shared.DATABASE) as source, source.cursor() as cursor, cursor.copy(asked) as rows:
        lines = [bytes(row).partition(b"\t")[2] for row in rows]
    now_ms = int(time.time() * 1000)
    url = cluster.create(DATABASE)
    try:
        migrate.upgrade_shared(url, now_ms=now_ms)
        pattern, numbers = itertools.cycle(lines), itertools.count(ids.first_no(now_ms))
        with psycopg.connect(url) as connection:
            watch, own, done = shared.Watch(postgres=cluster.pid), time.process_time(), 0
            began = time.monotonic()
            while time.monotonic() - began < seconds:
                block = b"".join(b"%d\t%s" % (next(numbers), next(pattern)) for _ in range(batch))
                with connection.cursor() as cursor, cursor.copy("COPY microtrip FROM STDIN") as copy:
                    copy.write(block)
                connection.commit()
                done += batch
            took, cores = time.monotonic() - began, watch.cores()
    finally:
        cluster.drop(DATABASE)
    return Alone(done / took, {"batch": batch, "rows": done, **cores, "loop": (time.process_time() - own) / took})


def frames(cluster: brokers.Cluster, topic: str) -> list[Frame]:
    """Some of the messages of a topic."""
    consumer = _consumer(cluster)
    try:
        found: list[Frame] = []
        parts = sorted(cluster.admin.list_topics(topic, timeout=10).topics[topic].partitions)
        ends = {part: consumer.get_watermark_offsets(TopicPartition(topic, part), 10) for part in parts}
        wanted = min(ROWS, sum(high - low for low, high in ends.values()))
        consumer.assign([TopicPartition(topic, part, low) for part, (low, _) in ends.items()])
        until = time.monotonic() + WAIT_S
        while len(found) < wanted and time.monotonic() < until:
            fetched = (each for each in consumer.consume(FETCHED, 0.2) if each.error() is None)
            found += [(each.key(), each.value() or b"") for each in fetched]
        return found
    finally:
        consumer.close()


def produced(cluster: brokers.Cluster, pattern: Sequence[Frame], *, seconds: float) -> Alone:
    """Messages a second that the broker takes, with the gateway's own settings of the producer."""
    topic = f"alone-{time.monotonic_ns()}"
    cluster.make_topic(topic, partitions=PARTITIONS)
    own = {"linger.ms": writer.LINGER_MS, "queue.buffering.max.messages": QUEUE, "log_level": 0}
    sure = {"enable.idempotence": True, "acks": "all", "compression.type": "lz4", "partitioner": "murmur2_random"}
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **own, **sure})
    delivered = 0

    def told(error: Any, _: Any) -> None:
        nonlocal delivered
        delivered += error is None

    watch, used = shared.Watch(broker=cluster.brokers[0].pid), time.process_time()
    began = time.monotonic()
    for key, value in itertools.cycle(pattern):
        if time.monotonic() - began >= seconds:
            break
        while len(producer) >= QUEUE - 1:
            producer.poll(0.01)
        producer.produce(topic, value, key, on_delivery=told)
        producer.poll(0)
    producer.flush(WAIT_S)
    took, cores = time.monotonic() - began, watch.cores()
    return Alone(delivered / took, {"messages": delivered, **cores, "loop": (time.process_time() - used) / took})


def consumed(cluster: brokers.Cluster, topics: Sequence[str]) -> Alone:
    """Messages a second that one reader gets from the topics, without looking at them."""
    consumer = _consumer(cluster)
    try:
        ends = {}
        for topic in topics:
            for part in cluster.admin.list_topics(topic, timeout=10).topics[topic].partitions:
                ends[topic, part] = consumer.get_watermark_offsets(TopicPartition(topic, part), 10)
        wanted, got, size = sum(high - low for low, high in ends.values()), 0, 0
        consumer.assign([TopicPartition(topic, part, low) for (topic, part), (low, _) in ends.items()])
        watch, used = shared.Watch(broker=cluster.brokers[0].pid), time.process_time()
        began = time.monotonic()
        while got < wanted and time.monotonic() - began < WAIT_S:
            for each in consumer.consume(FETCHED, 0.2):
                if each.error() is None:
                    got, size = got + 1, size + len(each.value() or b"")
        took, cores = time.monotonic() - began, watch.cores()
    finally:
        consumer.close()
    return Alone(got / took, {"messages": got, "bytes": size, **cores, "loop": (time.process_time() - used) / took})


def _consumer(cluster: brokers.Cluster) -> Consumer:
    own = {"group.id": "alone", "enable.auto.commit": False, "log_level": 0, "fetch.wait.max.ms": 20}
    return Consumer({"bootstrap.servers": cluster.bootstrap, **own})
