"""The stream of the live map with processes of several roles: the next api continues where a killed one was."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support import clusters, live_readers, portal_life, postgres
from tests.support.live_readers import Reader
from tests.system.test_live_positions import eastward, play

EMAIL = "admin@test-fleet.example"


@pytest.mark.deep
@pytest.mark.slow
def test_reader_of_a_killed_api_continues_at_another_without_loss(tmp_path: Path) -> None:
    postgres.need("processes of several roles")
    with postgres.cluster() as database, clusters.deployed(tmp_path, database, gateways=1, workers=1) as deployment:
        one, other = deployment.apis
        host, port = deployment.gateways[0].devices
        devices = SimpleNamespace(device_host=host, device_port=port, ca=deployment.ca)
        first, second = deployment.registered(2)
        with portal_life.Visit(one.api, EMAIL) as visit:
            headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in visit.http.cookies.items())}
        began = int(time.time() * 1000)
        reader = Reader(one.api, headers)
        for each in (first, second):
            play(devices, each, eastward(began))
        reader.until(lambda each: set(each.positions()) == {first.vehicle_id, second.vehicle_id})
        reader.until(lambda each: each.events[-1][1] == "beat")

        one.kill()
        deployment.workers[0].kill()
        over = reader.over.wait(live_readers.PATIENCE_S)
        later = int(time.time() * 1000)
        play(devices, second, eastward(later))
        continued = Reader(other.api, headers, reader.cursor)
        continued.until(lambda each: each.positions() == {second.vehicle_id: later})
        whole = [event for event in continued.named("vehicles") if event["whole"]]
        continued.close()

    assert over
    assert whole == []
