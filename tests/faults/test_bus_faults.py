"""Brokers, and who reads them, fail under load: what a customer's system wrote, and what devices sent, is stored once.

Three brokers that keep each message on two of them at least. Two gateways put what devices send into a topic
(`bus.buffer_devices`), two workers share that one and the customers'; each fault under its own load of both.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.support import brokers, clusters, faults, postgres, producers, producers_bus
from tests.support.clusters import Deployment

pytestmark = [pytest.mark.deep, pytest.mark.slow]
VEHICLES = 6
DEVICES = 6
FULL, OF_DEVICES, LIGHT = (100.0, 20.0), (20.0, 20.0), (10.0, 2.0)
"""Messages a second: of all vehicles together, of each device. Full while a kill hits what is under way, else light."""
HIT_S = 1
"""So long all is full behind a kill."""
CALM = (5.0, 1.0)
"""While a process starts, or is missed at last, which takes seconds: kills have hit what they could."""
FLOWS_S = 2
"""So many seconds' messages show that all goes on."""
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
        """Wait until both went on for a while, at the same time."""
        goal = self.driven.acknowledged + int(FLOWS_S * DEVICES * LIGHT[1])
        self.written.flows(int(FLOWS_S * LIGHT[0]))
        self.driven.reaches(goal, within_s=120)

    @contextlib.contextmanager
    def hit(self, rates: tuple[float, float] = FULL) -> Iterator[None]:
        """More messages when the block begins, which kills, and for a moment behind it."""
        self._pace(rates)
        self.flow()
        yield
        time.sleep(HIT_S)
        self._pace(LIGHT)

    @contextlib.contextmanager
    def calm(self) -> Iterator[None]:
        """Fewer messages while the block runs."""
        self._pace(CALM)
        yield
        self._pace(LIGHT)

    def _pace(self, rates: tuple[float, float]) -> None:
        self.written.rate = rates[0]
        self.driven.pace(rates[1])


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


@contextlib.contextmanager
def loads(deployment: Deployment, bus: brokers.Cluster) -> Iterator[Loads]:
    """Devices and a customer's own system while the block runs; then everything must hold."""
    company_id = deployment.company.record["id"]["id"]
    with (
        producers_bus.writing(bus.bootstrap, deployment.registered(VEHICLES), company_id, rate=LIGHT[0]) as written,
        deployment.driving(DEVICES, rate=LIGHT[1]) as driven,
    ):
        yield Loads(written, driven)
    try:
        for topic, group in GROUPS.items():
            bus.until_read(group, topic)
    except AssertionError as error:
        for worker in deployment.workers:
            error.add_note(f"{worker.name}:\n{worker.log.read_text('utf-8')[-5_000:]}")
        raise
    faults.hold(driven, deployment.rows)
    faults.hold_of_bus(written, deployment.rows)
    faults.logs_are_plain(deployment.nodes, [PASSWORD, *faults.secrets_of(driven)])


def test_broker_killed_under_load_loses_nothing(deployment, bus):
    """Each of the three leads some partitions of every topic, and follows the leaders of the others."""
    victim = bus.leader(BUFFER)
    with loads(deployment, bus) as load:
        with load.hit():
            victim.kill()
        load.flow()
        with load.calm():
            victim.start()
            bus.ready()
        load.flow()


def test_worker_killed_while_reading_leaves_its_partitions_to_the_other(deployment, bus):
    with loads(deployment, bus) as load:
        worker, other = deployment.workers
        shared = other.count("bus.assigned")
        with load.hit():
            worker.kill()
        load.flow()
        with load.calm():
            other.until_logged("bus.assigned", more_than=shared)
        worker.start()
        load.flow()


def test_no_worker_at_all_leaves_everything_in_the_buffer_until_there_is_one(deployment, bus):
    with loads(deployment, bus) as load:
        with load.hit():
            for worker in deployment.workers:
                worker.kill()
        load.flow()
        for worker in deployment.workers:
            worker.launch()
        load.flow()
        for worker in deployment.workers:
            worker.ready()

    assert max(box.longest_silence_s for box in load.driven.boxes) < 5, "devices noticed"


def test_gateway_killed_between_device_and_buffer_loses_nothing(deployment, bus):
    with loads(deployment, bus) as load:
        with load.hit(OF_DEVICES):
            deployment.gateways[0].kill()
        load.flow()
        with load.calm():
            deployment.gateways[0].start()
        load.flow()


def test_worker_that_leaves_and_joins_under_load_takes_partitions_along_and_none_twice(deployment, bus):
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


def test_postgresql_killed_lets_devices_go_on_and_the_bus_wait(deployment, bus):
    with loads(deployment, bus) as load:
        load.flow()
        deployment.database.kill()
        deployment.workers[0].until_logged("bus.outage")
        load.flow()
        deployment.database.start()
        load.flow()


def test_bus_away_means_no_acknowledgement_and_afterwards_everything_once(deployment, bus):
    with loads(deployment, bus) as load:
        with load.hit():
            for broker in bus.brokers:
                broker.kill()
        at = load.driven.acknowledged
        time.sleep(producers.PUBACK_S + 2)  # devices hang up and try again
        assert load.driven.acknowledged - at < 100, "acknowledged without a bus"
        with load.calm():
            for broker in bus.brokers:
                broker.start()
            bus.ready()
        load.flow()
