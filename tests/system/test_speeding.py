"""A drive over the limit of an imported road, from outside: events and an explanation that name the road."""

import asyncio
import json
import ssl
import time

import pytest
from tests.support import drives, map_files, servers
from tests.support.device import CarefulDevice
from tests.support.fleet import Company

START_MS = 1_780_000_000_000
PATIENCE_S = 30
SAMPLES, STEP_S = 80, 2


def test_speeding_drive_ends_with_events_and_an_explanation_that_name_the_road(tmp_path):
    """A map is imported beside the running server; the drive then goes at 90 along its road, where 60 is allowed."""
    nodes = {no: (36.0 + (no - 3) * 0.002, 127.5) for no in range(1, 30)}
    tags = {"highway": "primary", "ref": "17", "name": "Hanbat-daero", "maxspeed": "60"}
    file = map_files.written(tmp_path / "daejeon.osm.pbf", nodes, [(4711, list(nodes), tags)])
    with (
        servers.serving(tmp_path / "data") as server,
        Company(server.api, server.data) as company,
    ):
        imported = servers.run_here("map", "import", str(file), "--data", str(server.data))
        vehicle = company.vehicle_with_sensor(1)
        tls = ssl.create_default_context(cafile=str(server.ca))
        box = CarefulDevice(vehicle.token, server.device_host, server.device_port, tls)
        asyncio.run(box.play(drives.straight_trip(1, START_MS, samples=SAMPLES, step_ms=STEP_S * 1_000)))
        trip_id = scored(company, vehicle)
        page = company.get(f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/analytics/gpsEvent", limit=100)
        told = company.get(f"/api/tre/v1_3/trip/{trip_id}/analytics/drivingScore/explanation")
        trip = company.get(f"/api/tre/v1/trip/{trip_id}")

    assert imported.returncode == 0
    assert {event["info"] for event in page["data"]} == {'{"id":"4711","maxSpd":60000,"rank":103}'}
    assert json.loads(page["data"][0]["info"])["maxSpd"] == 60_000
    (stretch,) = told["overspeed"]
    assert (stretch["road"], stretch["link"]) == ("17 Hanbat-daero", "4711")
    assert (stretch["limit"], stretch["limitSource"]) == (60.0, "tagged")
    assert stretch["seconds"] == pytest.approx((SAMPLES - 1) * STEP_S, rel=0.03)
    assert len(stretch["ids"]) == len(page["data"])
    assert (told["limitKnown"], trip["limitKnown"]) == (1.0, 1.0)
    assert told["quality"]["maps"] == trip["quality"]["maps"] == [f"daejeon:{imported.stdout.split()[-1]}"]


def scored(company, vehicle):
    """The id of the vehicle's trip, once it has a score."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        page = company.get(f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/analytics/drivingScore", limit=10)["data"]
        if page:
            return page[0]["id"]["id"]
        time.sleep(0.05)
    raise AssertionError("no score in time")
