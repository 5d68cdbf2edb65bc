"""A vehicle is deleted while its device drives, and the power fails at once: nothing of it comes back."""

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import drives, servers, stores, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company, Registered

pytestmark = pytest.mark.deep

FIRST_TRIP_MS = 1_735_689_600_000
HOUR_MS = 3_600_000
COPIES = 60_000
"""Microtrips of the vehicle beside those it drove: some seconds of erasing."""
PATIENCE_S = 60
NAMING = {
    "trip": "vehicle_id",
    "device_event": "vehicle_id",
    "driving_score": "vehicle_id",
    "gps_event": "vehicle_id",
    "vehicle_score": "vehicle_id",
    "vehicle": "id",
    "sensor": "vehicle_id",
    "vehicle_company": "vehicle_id",
    "vehicle_user": "vehicle_id",
    "erasure": "id",
}


def device(server: servers.Running, registered: Registered) -> CarefulDevice:
    tls = ssl.create_default_context(cafile=str(server.ca))
    return CarefulDevice(registered.token, server.device_host, server.device_port, tls)


@contextlib.contextmanager
def driving(server: servers.Running, registered: Registered) -> Iterator[None]:
    """The device publishes trip after trip meanwhile, whether anybody listens or not."""
    stop = threading.Event()

    async def play() -> None:
        number = 10
        while not stop.is_set():
            number += 1
            bodies = drives.straight_trip(number, FIRST_TRIP_MS + number * HOUR_MS, samples=40)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await device(server, registered).play(bodies)

    thread = threading.Thread(target=asyncio.run, args=(play(),))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def swell(data: Path, vehicle_id: str) -> None:
    """Copy one microtrip of the vehicle many times over, into numbers that are free."""
    fill = "lpad(CAST(n AS text), 36, '0')" if stores.on_postgresql() else "printf('%036d', n)"
    stores.Database(data).rows(
        f"""
        WITH RECURSIVE counter (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter WHERE n < {COPIES}),
            one AS (SELECT m.* FROM microtrip m JOIN trip t ON t.no = m.trip_no WHERE t.vehicle_id = ? LIMIT 1)
        INSERT INTO microtrip (no, trip_no, id, ts, ty, payload, samples)
        SELECT n, trip_no, {fill}, ts, ty, payload, samples FROM one, counter
        """,
        vehicle_id,
    )


def left_of(data: Path, vehicle_id: str) -> dict[str, int]:
    """How many rows name the vehicle, or hang on a trip that is not there."""
    database = stores.Database(data)
    counts = {
        f"{table}.{column}": database.rows(f"SELECT count(*) FROM {table} WHERE {column} = ?", vehicle_id)[0][0]
        for table, column in NAMING.items()
    }
    for table in ("microtrip", "scoring_job", "gps_event", "driving_score"):
        orphans = f"SELECT count(*) FROM {table} WHERE trip_no NOT IN (SELECT no FROM trip)"
        counts[f"{table} without trip"] = database.rows(orphans)[0][0]
    return {name: count for name, count in counts.items() if count}


def until_nothing_is_left(data: Path, vehicle_id: str) -> dict[str, int]:
    deadline = time.monotonic() + PATIENCE_S
    while (left := left_of(data, vehicle_id)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def scored(company: Company, vehicle_id: str) -> int:
    """How many scores the vehicle has, as soon as there are any."""
    path = f"/api/tre/v1_3/vehicle/{vehicle_id}/analytics/drivingScore"
    return len(waits.seen(lambda: company.get(path, limit=10)["data"], within_s=PATIENCE_S))


def test_vehicle_deleted_while_it_drives_is_erased_after_a_power_cut(tmp_path: Path) -> None:
    data = tmp_path / "data"
    server = servers.start(data)
    with Company(server.api, data) as company:
        registered = company.vehicle_with_sensor(1)
        path = f"/api/tre/v1/vehicle/{registered.vehicle_id}"
        asyncio.run(device(server, registered).play(drives.straight_trip(1, FIRST_TRIP_MS, samples=40)))
        swell(data, registered.vehicle_id)
        with driving(server, registered):
            while len(trips := company.get(f"{path}/trips", limit=10)["data"]) < 3:
                time.sleep(0.01)
            answer = company.http.delete(path)
            server.kill()
        assert server.process.stdout is not None
        server.process.stdout.close()
        assert (answer.status_code, answer.json()) == (200, {})
        assert left_of(data, registered.vehicle_id)["erasure.id"] == 1

        with servers.serving(data) as again:
            company.http.base_url = again.api
            assert company.http.get(f"/api/tre/v1/trip/{trips[0]['id']['id']}").status_code == 404
            other = company.post("/api/tre/v1/vehicle", {"vehicleNo": registered.vehicle_no, "mileage": 1})["id"]["id"]
            sensor = company.post(f"/api/tre/v1/sensor/{registered.sensor_id}/vehicle/{other}")
            later = drives.straight_trip(900, FIRST_TRIP_MS + 900 * HOUR_MS)
            asyncio.run(device(again, registered).play(later))

            assert (sensor["vehicleId"]["id"], sensor["status"]) == (other, "ACTIVATED")
            assert scored(company, other) == 1
            assert until_nothing_is_left(data, registered.vehicle_id) == {}
