"""Brokers, and who reads them, fail under load: what a customer's system wrote, and what devices sent, is stored once.

Three brokers that keep each message on two of them at least. Two gateways put what devices send into a topic
(`bus.buffer_devices`), two workers share that one and the customers'; each fault under its own load of both.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from tests.support import brokers, clusters, faults, postgres, producers, producers_bus
from tests.support.clusters import Deployment

pytestmark = pytest.mark.slow
VEHICLES = 6
DEVICES = 6
BUFFER = "tripline-devices"
PASSWORD = "known-to-nobody"
GROUPS = {BUFFER: "tripline.devices", **dict.fromkeys(producers_bus.TOPICS, "tripline")}
"""Topic -> which group reads it."""


@dataclass(frozen=True)
class Loads:
    """What goes on at the same time."""

    written: producers_bus.BusLoad
    driven: producers.Load

    def flow(self) -> None:
        """Wait until both went on for a while."""
        self.written.flows()
        self.driven.flows(within_s=120)


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[brokers.Cluster]:
    brokers.need("faults of the bus")
    with brokers.cluster(tmp_path_factory.mktemp("brokers"), nodes=3) as running:
        for topic in producers_bus.TOPICS:
            running.make_topic(topic, partitions=producers_bus.PARTITIONS)
        yield running


@pytest.fixture(scope="module")
def deployment(bus: brokers.Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    postgres.need("faults of the bus")
    settings = {"TRIPLINE_BUS_URL": bus.url, "TRIPLINE_BUS_GRACE_S": "1", "TRIPLINE_BUS_BUFFER_DEVICES": "true"}
    with (
        postgres.cluster(durable=True, password=PASSWORD) as database,
        clusters.deployed(tmp_path_factory.mktemp("nodes"), database, apis=1, variables=settings) as running,
    ):
        yield running


@pytest.fixture(autouse=True)
def _everything_holds(deployment: Deployment, bus: brokers.Cluster) -> Iterator[None]:
    """Every test leaves brokers and workers running, plain logs, and no message behind that is not stored."""
    yield
    bus.ready()
    for topic in GROUPS:
        faults.until(lambda topic=topic: _behind(bus, topic) == 0)
    faults.logs_are_plain(deployment.nodes, [PASSWORD])


def _behind(bus: brokers.Cluster, topic: str) -> int | None:
    """Messages that the group has not gone past; None: brokers do not say it now."""
    consumer = Consumer({"bootstrap.servers": bus.bootstrap, "group.id": GROUPS[topic], "log_level": 0})
    try:
        parts = [TopicPartition(topic, number) for number in consumer.list_topics(topic, 10).topics[topic].partitions]
        ends = {part.partition: consumer.get_watermark_offsets(part, 10)[1] for part in parts}
        return sum(ends[part.partition] - max(part.offset, 0) for part in consumer.committed(parts, 10))
    except KafkaException:
        return None
    finally:
        consumer.close()


@contextlib.contextmanager
def loads(deployment: Deployment, bus: brokers.Cluster) -> Iterator[Loads]:
    """Devices and a customer's own system while the block runs; then everything must hold."""
    company_id = deployment.company.record["id"]["id"]
    with (
        producers_bus.writing(bus.bootstrap, deployment.registered(VEHICLES), company_id) as written,
        deployment.driving(DEVICES) as driven,
    ):
        yield Loads(written, driven)
    for topic in GROUPS:
        faults.until(lambda topic=topic: _behind(bus, topic) == 0)
    faults.hold(driven, deployment.rows)
    faults.hold_of_bus(written, deployment.rows)
    faults.logs_are_plain(deployment.nodes, faults.secrets_of(driven))


@pytest.mark.parametrize("leads", [False, True], ids=["one of three", "the one that leads"])
def test_broker_killed_under_load_loses_nothing(deployment: Deployment, bus: brokers.Cluster, leads: bool) -> None:
    leaders = [bus.leader(topic) for topic in (producers_bus.TOPICS[0], BUFFER)]
    victim = leaders[0] if leads else next((each for each in bus.brokers if each not in leaders), bus.brokers[-1])
    with loads(deployment, bus) as load:
        load.flow()
        victim.kill()
        load.flow()
        victim.start()
        bus.ready()
        load.flow()


def test_worker_killed_while_reading_leaves_its_partitions_to_the_other(
    deployment: Deployment, bus: brokers.Cluster
) -> None:
    with loads(deployment, bus) as load:
        load.flow()
        for worker in deployment.workers:
            worker.kill()
            load.flow()
            worker.start()
        load.flow()


def test_no_worker_at_all_leaves_everything_in_the_buffer_until_there_is_one(
    deployment: Deployment, bus: brokers.Cluster
) -> None:
    with loads(deployment, bus) as load:
        load.flow()
        for worker in deployment.workers:
            worker.kill()
        load.flow()
        for worker in deployment.workers:
            worker.launch()
        load.flow()
        for worker in deployment.workers:
            worker.ready()


def test_gateway_killed_between_device_and_buffer_loses_nothing(deployment: Deployment, bus: brokers.Cluster) -> None:
    with loads(deployment, bus) as load:
        load.flow()
        deployment.gateways[0].kill()
        load.flow()
        deployment.gateways[0].start()
        load.flow()


def test_worker_that_leaves_and_joins_under_load_takes_partitions_along_and_none_twice(
    deployment: Deployment, bus: brokers.Cluster
) -> None:
    first, second = deployment.workers
    assigned = first.count("bus.assigned"), second.count("bus.assigned")
    with loads(deployment, bus) as load:
        load.flow()
        code = second.stop()
        load.flow()
        second.start()
        second.until_logged("bus.assigned", more_than=assigned[1])
        load.flow()

    assert code == 0
    assert first.count("bus.assigned") > assigned[0]


def test_postgresql_killed_lets_devices_go_on_and_the_bus_wait(deployment: Deployment, bus: brokers.Cluster) -> None:
    with loads(deployment, bus) as load:
        load.flow()
        deployment.database.kill()
        deployment.workers[0].until_logged("bus.outage")
        load.flow()
        deployment.database.start()
        load.flow()
