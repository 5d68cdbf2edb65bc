"""The network between processes of Tripline and their store is cut for a minute, under load: packets get lost, and
nobody is told. Who is cut off acknowledges nothing; the others take over, and nothing is stored twice afterwards.

A gateway and a worker have a network namespace each, with a cable to the store that is cut; another gateway and another
worker stay where the store is.
"""

import time
from collections.abc import Iterator

import pytest
from tests.support import clusters, faults, faults_office, netns, postgres
from tests.support.clusters import Deployment, Place
from tests.support.netns import Cable

pytestmark = [pytest.mark.deep, pytest.mark.slow]
DEVICES = 10
RATE, CALM = 8, 2
"""Messages of a device a second: while the cut hits some, and once the others have taken over."""
CUT_S = 60
PASSWORD = "known-to-nobody"
CUT_OFF = ("gateway-2", "worker-2")
BY_HTTP = {"TRIPLINE_BEHIND_PROXY": "true"}


@pytest.fixture(scope="module")
def cables() -> Iterator[dict[str, netns.Namespace]]:
    """The namespaces of the nodes that are cut off: the first cable goes to the store, the last to devices."""
    netns.need("a network that is cut")
    with netns.namespace(cables=2) as of_gateway, netns.namespace() as of_worker:
        yield dict(zip(CUT_OFF, (of_gateway, of_worker), strict=True))


@pytest.fixture(scope="module")
def deployment(cables: dict[str, netns.Namespace], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    postgres.need("a network that is cut")
    places = {
        name: Place(space.cables[-1].there, space.cables[0].here, space.name, BY_HTTP) for name, space in cables.items()
    }
    beside = [space.cables[0].here for space in cables.values()]
    database = postgres.Cluster(durable=True, password=PASSWORD, beside=beside)
    try:
        with clusters.deployed(tmp_path_factory.mktemp("nodes"), database, apis=1, places=places) as running:
            yield running
    finally:
        database.remove()


@pytest.mark.timeout(400)
def test_network_cut_for_a_minute_leaves_work_to_the_others_and_stores_everything_once(deployment, cables):
    to_store: list[Cable] = [cables[name].cables[0] for name in CUT_OFF]
    cut_off = {node.name: node for node in deployment.nodes if node.name in CUT_OFF}
    with deployment.driving(DEVICES, rate=RATE) as load:
        load.flows(400)
        before = {node.name: node.count("node.away") for node in deployment.nodes}
        for cable in to_store:
            cable.cut()
        until_s = time.monotonic() + CUT_S
        load.flows(400)
        load.pace(CALM)
        while time.monotonic() < until_s:
            load.flows(50)  # the others go on
        load.pace(RATE)
        for cable in to_store:
            cable.mend()
        load.flows(400)
    (registered,) = deployment.registered(1)
    with faults_office.box_at(deployment, cut_off["gateway-2"], registered):
        answer = deployment.company.post(faults_office.TWOWAY + registered.sensor_id, {"method": "reset"})

    assert answer["response"] == faults_office.SUCCESS
    assert max(box.longest_silence_s for box in load.boxes) < CUT_S
    faults.hold(load, deployment.rows)
    assert {name for name, node in cut_off.items() if node.count("node.away") > before[name]} == set(CUT_OFF)
    assert cut_off["gateway-2"].count("ingest.outage") > 0
    assert sum(node.count("node.buried") for node in deployment.nodes if node.name not in CUT_OFF) >= len(CUT_OFF)
    faults.logs_are_plain(deployment.nodes, [PASSWORD, *faults.secrets_of(load)])
