"""Devices' own messages over a real bus: a drive that comes half over MQTTS and half over the bus is one trip, scored
like one that came over MQTTS alone, whether one process does everything or a worker reads the bus beside a gateway.
So are live positions: of a device's own messages and of those that a customer's system made.
"""

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support import brokers, clusters, postgres, producers, servers, waits
from tests.support.bus_messages import microtrip
from tests.support.device import CarefulDevice
from tests.support.fleet import Company, Registered
from tests.system.test_ingest import judged, listed

pytestmark = [pytest.mark.deep, pytest.mark.slow]
PATIENCE_S = 60
TOPIC = "sf-microtrip"
DEAD = "tripline-dead-letters"
STRANGER = "99999999-0000-11ef-8000-000000000009"


class Site(NamedTuple):
    """Where devices connect, and their company."""

    company: Company
    gateway: tuple[str, int]
    tls: ssl.SSLContext

    def play(self, device: Registered, bodies: Sequence[dict[str, Any]]) -> None:
        """Send as the device over MQTTS; everything is acknowledged when this returns."""
        box = CarefulDevice(device.token, *self.gateway, self.tls)
        asyncio.run(asyncio.wait_for(box.play([json.dumps(body).encode() for body in bodies]), PATIENCE_S))


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[brokers.Cluster]:
    brokers.need("devices' own messages over the bus")
    with brokers.cluster(tmp_path_factory.mktemp("kafka")) as made:
        made.make_topic(TOPIC)
        yield made


@contextlib.contextmanager
def one_process(folder: Path, variables: dict[str, str]) -> Iterator[Site]:
    data = folder / "data"
    with servers.serving(data, variables=variables) as server, Company(server.api, data) as company:
        tls = ssl.create_default_context(cafile=str(server.ca))
        yield Site(company, (server.device_host, server.device_port), tls)


@contextlib.contextmanager
def gateway_and_worker(folder: Path, variables: dict[str, str]) -> Iterator[Site]:
    postgres.need("a worker that reads the bus beside a gateway")
    with (
        postgres.cluster() as database,
        clusters.deployed(folder, database, gateways=1, apis=1, workers=1, variables=variables) as deployment,
    ):
        yield Site(deployment.company, deployment.gateways[0].devices, deployment.tls)


def written(bus: brokers.Cluster, sensor_id: str, bodies: Sequence[dict[str, Any]], **beside: str) -> None:
    """The same bodies on the bus, as a customer's system passes them on."""
    bus.put(TOPIC, [json.dumps(body | {"sensorId": sensor_id} | beside).encode() for body in bodies])


def letters(bus: brokers.Cluster, sensor_id: str) -> list[str]:
    """Why messages about the sensor could not be used, once there are two."""

    def told() -> list[str]:
        with contextlib.suppress(KeyError):  # the topic is not there yet
            found = [json.loads(letter.value() or b"") for letter in bus.kept(DEAD)]
            return [letter["reason"] for letter in found if sensor_id in letter["body"]]
        return []

    return waits.seen(told, lambda reasons: len(reasons) >= 2, within_s=PATIENCE_S)


def whereabouts(company: Company, vehicle: Registered, at_ms: int) -> dict[str, Any]:
    """The live position of the vehicle, once it is of this instant, without the vehicle's id."""
    path = f"/api/tre/v1/company/{company.record['id']['id']}/positions"

    def told() -> dict[str, Any]:
        found = {each.pop("vehicleId")["id"]: each for each in company.get(path, limit=100)["data"]}
        return found.get(vehicle.vehicle_id, {})

    return waits.seen(told, lambda position: position.get("ts") == at_ms, within_s=PATIENCE_S)


@pytest.mark.parametrize("site", [one_process, gateway_and_worker])
def test_drive_that_comes_half_over_the_bus_is_one_trip_of_the_device(site, bus, tmp_path):
    bodies = producers.drives()[0].bodies(0)
    half = len(bodies) // 2
    with site(tmp_path, {"TRIPLINE_BUS_URL": bus.url, "TRIPLINE_BUS_GROUP": site.__name__}) as here:
        alone, both, third = (here.company.vehicle_with_sensor(number) for number in (1, 2, 3))
        here.play(alone, bodies)
        here.play(both, bodies[:half])

        written(bus, both.sensor_id, [{"ty": 50, "ts": 1, "pld": {"a": 1}}])
        written(bus, both.sensor_id, bodies[half : half + 1], companyId=STRANGER)
        written(bus, both.sensor_id, bodies[half - 1 :])
        expected, found = judged(here.company, alone, 1), judged(here.company, both, 1)

        assert found == expected
        assert sorted(letters(bus, both.sensor_id)) == ["company", "unknown_type"]
        assert len(listed(here.company, both, "drivingScore")) == 1
        trips = here.company.get(f"/api/tre/v1/vehicle/{both.vehicle_id}/trips", limit=100)["data"]
        assert len(trips) == 1

        last = bodies[-2]["pld"][-1]
        by_mqtt, by_both = (whereabouts(here.company, each, last["clt"]) for each in (alone, both))
        assert by_both == by_mqtt
        assert (by_mqtt["lat"], by_mqtt["lon"]) == (last["lat"], last["lon"])

        now_ms = int(time.time() * 1_000)
        sample = {"tid": 1, "clt": now_ms - 1_000, "lat": 37.5, "lon": 127.0, "sp": 43}
        theirs = [sample, sample | {"clt": now_ms, "lat": 37.5001}]
        told = microtrip(theirs, companyId=None, vehicleId=None, sensorId=third.sensor_id)
        bus.put(TOPIC, [json.dumps(told).encode()])
        assert whereabouts(here.company, third, now_ms) == {
            "ts": now_ms, "lat": 37.5001, "lon": 127.0, "speed": 43.0, "heading": 0.0, "state": "DRIVING"
        }  # fmt: skip
