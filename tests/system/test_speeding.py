"""A drive over the limit of an imported road, from outside: events and an explanation that name the road."""

import asyncio
import json
import random
import ssl
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support import drives, map_files, servers, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company

from tripline.adapters.maps import files as maps
from tripline.simulator import client, messages, motion, network, replay
from tripline.simulator.recordings import Point, Track
from tripline.simulator.styles import STYLES

START_MS = 1_780_000_000_000
PATIENCE_S = 30
SAMPLES, STEP_S = 80, 2
MAP = Path(__file__).parents[2] / "evaluation" / "maps" / "liechtenstein.osm.pbf"


def test_speeding_drive_ends_with_events_and_an_explanation_that_name_the_road(tmp_path):
    """A map is imported beside the running server; the drive then goes at 90 along its road, where 60 is allowed."""
    nodes = {no: (36.0 + (no - 3) * 0.002, 127.5) for no in range(1, 30)}
    tags = {"highway": "primary", "ref": "17", "name": "Hanbat-daero", "maxspeed": "60"}
    file = map_files.written(tmp_path / "daejeon.osm.pbf", nodes, [(4711, list(nodes), tags)])
    with servers.serving(tmp_path / "data") as server, Company(server.api, server.data) as company:
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
    (limit,) = told["limits"]
    assert (limit["limit"], limit["limitSource"]) == (60.0, "tagged")
    assert (limit["road"], limit["link"]) == ("17 Hanbat-daero", "4711")
    assert stretch["seconds"] == pytest.approx((SAMPLES - 1) * STEP_S, rel=0.03)
    assert len(stretch["ids"]) == len(page["data"])
    assert (told["limitKnown"], trip["limitKnown"]) == (1.0, 1.0)
    assert (
        told["quality"]["maps"] == trip["quality"]["maps"] == [f"daejeon:{imported.stdout.splitlines()[0].split()[-1]}"]
    )


@pytest.mark.deep
@pytest.mark.parametrize("seed", [1, 2])
def test_drive_along_real_roads_is_explained_with_the_seconds_over_the_limit_that_it_had(tmp_path, seed):
    """The limits change along the way; the drive's own record of them is the truth."""
    data = tmp_path / "data"
    with servers.serving(data) as server, Company(server.api, server.data) as company:
        assert servers.run_here("map", "import", str(MAP), "--data", str(data)).returncode == 0
        vehicle = company.vehicle_with_sensor(1)
        moments = driven(data / "maps", seed)
        track = Track("", [Point(at_ms(each), each.lat, each.lon, each.speed_kmh) for each in moments])
        gateway = client.Gateway(server.device_host, server.device_port, server.ca)
        asyncio.run(replay.delivered(messages.of_tracks([track]), gateway=gateway, token=vehicle.token))
        trip_id = scored(company, vehicle)
        page = company.get(f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/analytics/gpsEvent", limit=1_000)
        told = company.get(f"/api/tre/v1_3/trip/{trip_id}/analytics/drivingScore/explanation")
        index, _ = maps.load(data / "maps", maps.areas(data / "maps")[0])
        links = {str(each) for each in index.link}

    over = [(one, other.at_s - one.at_s) for one, other in pairwise(moments) if one.speed_kmh > 1.1 * one.limit_kmh]
    seconds = sum(stretch["seconds"] for stretch in told["overspeed"])
    assert seconds == pytest.approx(sum(each for _, each in over), rel=0.03)
    assert seconds > 100
    assert not page["hasNext"]
    infos = {event["eventTs"]: json.loads(event["info"]) for event in page["data"] if event["eventTy"] == 5}
    truth = {at_ms(each): each.limit_kmh * 1_000 for each, _ in over}
    right = sum(infos.get(at, {}).get("maxSpd") == limit for at, limit in truth.items())
    assert right / len(truth) > 0.97
    assert all(info["id"] in links and info["rank"] in (101, 102, 103, 104, 107, 108) for info in infos.values())
    assert {stretch["limitSource"] for stretch in told["overspeed"]} <= {"tagged", "implied", "roadClass"}
    assert all(stretch["link"] in links for stretch in told["overspeed"])
    assert any(stretch["road"] for stretch in told["overspeed"])


def driven(folder, seed):
    """A quarter of an hour over the limits of the imported map."""
    [area] = maps.areas(folder)
    chance = random.Random(seed)
    legs = network.Network(*maps.load(folder, area)).legs(chance)
    return list(motion.drive(chance, STYLES["aggressive"], legs, seconds=900, period_s=1))


def at_ms(moment):
    return START_MS + round(moment.at_s * 1_000)


def scored(company, vehicle):
    """The id of the vehicle's trip, once it has a score."""
    path = f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/analytics/drivingScore"
    return waits.seen(lambda: company.get(path, limit=10)["data"], within_s=PATIENCE_S)[0]["id"]["id"]
