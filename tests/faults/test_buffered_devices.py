"""With the bus between gateways and workers: what a gateway acknowledged is stored once, whoever dies in between."""

import time
from collections.abc import Iterator

import pytest
from tests.support import brokers, clusters, faults, postgres, producers
from tests.support.clusters import Deployment

pytestmark = pytest.mark.slow
DEVICES = 10
PASSWORD = "known-to-nobody"
SETTINGS = {"TRIPLINE_BUS_BUFFER_DEVICES": "true", "TRIPLINE_BUS_BUFFER_PARTITIONS": "4"}


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[brokers.Cluster]:
    brokers.need("frames on the bus")
    with brokers.cluster(tmp_path_factory.mktemp("bus")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory, bus: brokers.Cluster) -> Iterator[Deployment]:
    postgres.need("frames on the bus")
    folder = tmp_path_factory.mktemp("nodes")
    with (
        postgres.cluster(durable=True, password=PASSWORD) as database,
        clusters.deployed(folder, database, apis=1, variables={**SETTINGS, "TRIPLINE_BUS_URL": bus.url}) as running,
    ):
        yield running


def hold(deployment: Deployment, load: producers.Load) -> None:
    """Everything must hold, once the workers have taken in what is on the bus."""
    ids = ", ".join(f"'{box.registered.sensor_id}'" for box in load.boxes)
    ended = f"SELECT count(*) FROM trip WHERE state = 'COMPLETE' AND sensor_id IN ({ids})"
    told = sum(message["ty"] == 1 for box in load.boxes for message in box.sent)
    faults.until(lambda: deployment.rows(ended) == [(told,)])
    faults.hold(load, deployment.rows)
    faults.logs_are_plain(deployment.nodes, faults.secrets_of(load))


def test_frames_over_the_bus_are_stored_once_and_in_order(deployment: Deployment) -> None:
    with deployment.driving(DEVICES, rate=40) as load:
        load.flows()

    hold(deployment, load)


def test_worker_killed_under_load_leaves_its_partitions_to_the_other(deployment: Deployment) -> None:
    with deployment.driving(DEVICES, rate=40) as load:
        load.flows()
        for worker in deployment.workers:
            worker.kill()
            load.flows()
            worker.start()
            load.flows()

    hold(deployment, load)


def test_workers_away_for_a_while_find_everything_on_the_bus(deployment: Deployment) -> None:
    with deployment.driving(DEVICES, rate=40) as load:
        load.flows()
        for worker in deployment.workers:
            worker.kill()
        slept = time.monotonic()
        load.flows(2_000)
        assert time.monotonic() - slept < 60
        for worker in deployment.workers:
            worker.start()

    assert max(box.longest_silence_s for box in load.boxes) < 5, "devices noticed"
    hold(deployment, load)


def test_bus_away_means_no_acknowledgement_and_afterwards_everything_once(
    deployment: Deployment, bus: brokers.Cluster
) -> None:
    (broker,) = bus.brokers
    with deployment.driving(DEVICES, rate=40) as load:
        load.flows()
        broker.kill()
        at = load.acknowledged
        time.sleep(12)
        assert load.acknowledged - at < 200, "acknowledged without a bus"
        broker.start()
        bus.ready()
        load.flows()

    hold(deployment, load)
