"""Brokers and readers of the bus fail under load: what a customer's system wrote is stored once, in its order.

Three brokers that keep each message on two of them at least, two workers of Tripline that share the topics; each fault
under its own load.
"""

from collections.abc import Iterator

import pytest
from tests.support import brokers, clusters, faults, postgres, producers_bus
from tests.support.clusters import Deployment

pytestmark = pytest.mark.slow
VEHICLES = 8
PASSWORD = "known-to-nobody"
GROUP = "tripline"


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
    settings = {"TRIPLINE_BUS_URL": bus.url, "TRIPLINE_BUS_GRACE_S": "1"}
    with (
        postgres.cluster(durable=True, password=PASSWORD) as database,
        clusters.deployed(
            tmp_path_factory.mktemp("nodes"), database, gateways=0, apis=1, workers=2, variables=settings
        ) as running,
    ):
        yield running


@pytest.fixture(autouse=True)
def _everything_holds(deployment: Deployment, bus: brokers.Cluster) -> Iterator[None]:
    """Every test leaves brokers and workers running, plain logs, and no message behind that is not stored."""
    yield
    bus.ready()
    for topic in producers_bus.TOPICS:
        faults.until(lambda topic=topic: _behind(bus, topic) == 0)
    faults.logs_are_plain(deployment.nodes, [PASSWORD])


def _behind(bus: brokers.Cluster, topic: str) -> int:
    """Messages that the group has not gone past."""
    committed = bus.committed(GROUP, topic)
    ends: dict[int, int] = {}
    for message in bus.kept(topic):
        ends[message.partition()] = message.offset() + 1
    return sum(end - committed.get(partition, 0) for partition, end in ends.items())


@pytest.fixture
def writing(deployment: Deployment, bus: brokers.Cluster):
    def begin():
        company_id = deployment.company.record["id"]["id"]
        return producers_bus.writing(bus.bootstrap, deployment.registered(VEHICLES), company_id)

    return begin


def test_one_of_three_brokers_killed_under_load_loses_nothing(deployment, bus, writing):
    leaders = {bus.leader(topic, part).node for topic in producers_bus.TOPICS for part in range(1)}
    victim = next((broker for broker in bus.brokers if broker.node not in leaders), bus.brokers[-1])
    with writing() as load:
        load.flows()
        victim.kill()
        load.flows()
        victim.start()
        bus.ready()
        load.flows()

    faults.hold_of_bus(load, deployment.rows)


def test_broker_that_leads_partitions_killed_under_load_loses_nothing(deployment, bus, writing):
    leader = bus.leader(producers_bus.TOPICS[0], 0)
    with writing() as load:
        load.flows()
        leader.kill()
        load.flows()
        leader.start()
        bus.ready()
        load.flows()

    faults.hold_of_bus(load, deployment.rows)


def test_worker_killed_while_reading_leaves_its_partitions_to_the_other(deployment, writing):
    with writing() as load:
        load.flows()
        for worker in deployment.workers:
            worker.kill()
            load.flows()
            worker.start()
        load.flows()

    faults.hold_of_bus(load, deployment.rows)


def test_worker_that_leaves_and_joins_under_load_takes_partitions_along_and_none_twice(deployment, writing):
    first, second = deployment.workers
    assigned = first.count("bus.assigned"), second.count("bus.assigned")
    with writing() as load:
        load.flows()
        assert second.stop() == 0
        load.flows()
        second.start()
        second.until_logged("bus.assigned", more_than=assigned[1])
        load.flows()

    assert first.count("bus.assigned") > assigned[0]
    faults.hold_of_bus(load, deployment.rows)


def test_postgresql_killed_while_reading_pauses_the_bus_and_loses_nothing(deployment, writing):
    with writing() as load:
        load.flows()
        deployment.database.kill()
        deployment.workers[0].until_logged("bus.outage")
        deployment.database.start()
        load.flows()

    faults.hold_of_bus(load, deployment.rows)
