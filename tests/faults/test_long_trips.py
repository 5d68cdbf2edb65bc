"""Long trips, Kafka behind the gateways, and processes that die: the drain goes on, whatever comes twice.

A device that lost its gateway sends again what was not acknowledged, and a worker that takes over reads again what the
dead one had stored. Neither may cost more because the trip is long.
"""

import os
import random
import time
from collections.abc import Iterator

import pytest
from tests.support import brokers, clusters, faults, long_trips, postgres
from tests.support.clusters import Deployment

pytestmark = [pytest.mark.deep, pytest.mark.slow]
DEVICES = 4
LENGTH = 5_000
"""Messages of each trip that are stored before."""
RATE = 100.0
"""Messages of a device a second."""
KILLS = int(os.environ.get("TRIPLINE_TESTS_KILLS", "8"))
SEED = int(os.environ.get("TRIPLINE_TESTS_SEED") or random.randrange(10**6))
TAKEN_OVER_S = 15.0
AFTERWARDS_S = 30.0
GROUP = "tripline.devices"
PASSWORD = "known-to-nobody"
SETTINGS = {"TRIPLINE_BUS_BUFFER_DEVICES": "true", "TRIPLINE_BUS_BUFFER_PARTITIONS": "4"}


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[brokers.Cluster]:
    brokers.need("long trips on the bus")
    with brokers.cluster(tmp_path_factory.mktemp("bus")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory, bus: brokers.Cluster) -> Iterator[Deployment]:
    postgres.need("long trips on the bus")
    folder = tmp_path_factory.mktemp("nodes")
    with (
        postgres.cluster(durable=True, password=PASSWORD) as database,
        clusters.deployed(folder, database, apis=1, variables={**SETTINGS, "TRIPLINE_BUS_URL": bus.url}) as running,
    ):
        yield running


def until_both_read(deployment: Deployment) -> None:
    """Wait until each worker has partitions."""

    def shared() -> bool:
        having = []
        for worker in deployment.workers:
            told = [each for each in worker.events() if each.get("event") in ("bus.assigned", "bus.revoked")]
            having.append(bool(told) and told[-1]["partitions"] > 0)
        return all(having)

    faults.until(shared)


@pytest.mark.parametrize("kills", [int(os.environ.get("TRIPLINE_TESTS_KILLS", "2"))])
def test_killed_workers_partitions_are_drained_by_the_other_within_15_s(deployment, bus, kills):
    registered = deployment.registered(DEVICES)
    took_s = []
    with long_trips.driving(deployment, registered, first=0, rate=20) as load:
        for turn in range(kills):
            worker = deployment.workers[turn % 2]
            until_both_read(deployment)
            load.flows()
            worker.kill()
            killed_s = time.monotonic()
            load.flows(1)
            until = bus.ends(long_trips.TOPIC)
            faults.until(lambda until=until: long_trips.drained(deployment, until), within_s=100)
            took_s.append(round(time.monotonic() - killed_s, 1))
            worker.start()

    print("taken over and drained after", took_s, "s")
    assert max(took_s) <= TAKEN_OVER_S
    faults.until(lambda: long_trips.drained(deployment, bus.ends(long_trips.TOPIC)))
    assert long_trips.stored_once(deployment, load) == {}


def test_random_kills_under_load_leave_everything_acknowledged_stored_once(deployment, bus):
    chance = random.Random(SEED)
    registered = deployment.registered(DEVICES)
    long_trips.preload(deployment, bus, registered, LENGTH)
    killed = []
    with long_trips.driving(deployment, registered, first=LENGTH, rate=RATE) as load:
        # The worst that deaths can leave behind: nothing of what is stored was committed, and the rest waits as well.
        for worker in deployment.workers:
            worker.kill()
        bus.rewind(GROUP, long_trips.TOPIC)
        deployment.start_all()
        while len(killed) < KILLS:
            time.sleep(chance.uniform(0.2, 1.5))
            victim = chance.choice(deployment.nodes)
            if victim.is_ready:
                victim.kill()
                victim.launch()
                killed.append(victim.name)
        for node in deployment.nodes:
            node.ready()
    ended_s = time.monotonic()
    until = bus.ends(long_trips.TOPIC)
    print(f"seed {SEED}: {' '.join(killed)}; {load.acknowledged} acknowledged, {load.resent} sent again")

    faults.until(lambda: long_trips.drained(deployment, until), within_s=AFTERWARDS_S)
    print(f"everything stored {time.monotonic() - ended_s:.1f} s after the load")
    assert load.resent > 0, "no kill hit a message under way"
    assert long_trips.stored_once(deployment, load) == {}
    faults.logs_are_plain(deployment.nodes, [PASSWORD])
