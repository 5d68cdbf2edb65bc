"""Live positions from outside: a device or a file tells where a vehicle is, and REST answers it, also after a stop."""

import asyncio
import json
import ssl
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import servers, waits
from tests.support.bus_messages import RECORD, TRIP
from tests.support.device import CarefulDevice
from tests.support.fleet import Company, Registered

SOON_S = 2.0
PATIENCE_S = 20
SLOW = """
import sys
from tripline import cli
from tripline.services.live import position_keeper
position_keeper.EVERY_S = 600
sys.exit(cli.run(sys.argv[1:]))
"""
DEGREES_A_SECOND = 0.00015
"""About 16.7 m: 60 km/h."""


@contextmanager
def running(data: Path, program: Sequence[str] | None = None) -> Iterator[tuple[servers.Running, Company]]:
    with servers.serving(data, program=program) as server, Company(server.api, data) as company:
        yield server, company


def eastward(end_ms: int, *, seconds: int = 3) -> list[dict[str, Any]]:
    """A sample a second on the equator, the last at this time."""
    times = range(end_ms - (seconds - 1) * 1_000, end_ms + 1, 1_000)
    return [
        {"ty": 2, "ts": at, "pld": {"tid": 1, "clt": at, "lat": 0.001, "lon": number * DEGREES_A_SECOND, "sp": 60.0}}
        for number, at in enumerate(times, 1)
    ]


def play(server: servers.Running, vehicle: Registered, bodies: list[dict[str, Any]]) -> None:
    """Publish as the device on the vehicle, until every message is acknowledged."""
    tls = ssl.create_default_context(cafile=str(server.ca))
    box = CarefulDevice(vehicle.token, server.device_host, server.device_port, tls)
    asyncio.run(asyncio.wait_for(box.play([json.dumps(body).encode() for body in bodies]), PATIENCE_S))


def asked(company: Company, since: str | None = None) -> dict[str, Any]:
    whose = company.record["id"]["id"]
    query = {"limit": 100} | ({} if since is None else {"since": since})
    return company.get(f"/api/tre/v1/company/{whose}/positions", **query)


def ids_of(page: dict[str, Any]) -> list[str]:
    return [each["vehicleId"]["id"] for each in page["data"]]


def test_vehicle_of_a_device_is_on_the_map_within_two_seconds(tmp_path: Path) -> None:
    with running(tmp_path / "data") as (server, company):
        vehicle, other = (company.vehicle_with_sensor(number) for number in (1, 2))
        empty = asked(company)
        now_ms = int(time.time() * 1000)

        play(server, vehicle, eastward(now_ms))
        page = waits.seen(lambda: asked(company), lambda page: page["data"], within_s=SOON_S)
        play(server, other, eastward(now_ms - 3_600_000))
        since = page["since"]
        later = waits.seen(lambda: asked(company, since), lambda page: page["data"], within_s=PATIENCE_S)

    assert empty["data"] == []
    assert page["data"] == [
        {
            "vehicleId": {"id": vehicle.vehicle_id},
            "ts": now_ms,
            "lat": 0.001,
            "lon": 3 * DEGREES_A_SECOND,
            "speed": 60.0,
            "heading": 90.0,
            "state": "DRIVING",
        }
    ]
    assert ids_of(later) == [other.vehicle_id]
    assert later["data"][0]["state"] == "OFFLINE"  # it fell silent on its way an hour ago


def test_server_that_stops_writes_the_last_position_first(tmp_path: Path) -> None:
    """No round of writing comes before it ends."""
    data = tmp_path / "data"
    with running(data, [sys.executable, "-c", SLOW]) as (server, company):
        vehicles = [company.vehicle_with_sensor(number) for number in (1, 2)]
        now_ms = int(time.time() * 1000)
        for vehicle in vehicles:
            play(server, vehicle, eastward(now_ms, seconds=1))
        code = server.stop()
        with servers.serving(data, *servers.same_listeners(server)):
            page = asked(company)

    assert code == 0
    assert ids_of(page) == sorted(each.vehicle_id for each in vehicles)
    assert {each["ts"] for each in page["data"]} == {now_ms}


def test_file_that_was_taken_in_has_told_where_vehicles_are(tmp_path: Path) -> None:
    """As a device would have sent it, and as a customer's system would have delivered it."""
    data, file = tmp_path / "data", tmp_path / "messages.jsonl"
    now_ms = int(time.time() * 1000)
    with running(data) as (_, company):
        by_device, by_bus = (company.vehicle_with_sensor(number) for number in (1, 2))
        bodies = eastward(now_ms)
        lines: list[dict[str, Any]] = [body | {"sensorId": by_device.sensor_id} for body in bodies]
        payload = json.dumps([body["pld"] for body in bodies])
        told = {"sensorId": by_bus.sensor_id, "tripId": TRIP, "microTripId": RECORD, "deviceType": "GPS", "ts": now_ms}
        lines.append({"topic": "sf-microtrip", "value": {"data": told | {"payload": payload}, "msgType": "microtrip"}})
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))

        done = servers.run_here("ingest", str(file), "--data", str(data))
        page = asked(company)

    assert done.returncode == 0, done.stdout
    assert ids_of(page) == sorted([by_device.vehicle_id, by_bus.vehicle_id])
    assert [(each["ts"], each["speed"], each["heading"]) for each in page["data"]] == [(now_ms, 60.0, 90.0)] * 2
