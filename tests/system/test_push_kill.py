"""Power cuts while messages go to a customer's server: none is missing, and what comes twice has the same id."""

import asyncio
import json
import os
import random
import ssl
from collections import defaultdict
from pathlib import Path

import pytest
from tests.support import drives, servers, stores
from tests.support.device import CarefulDevice
from tests.support.fleet import Company
from tests.support.receivers import OK, Receiver, Reply, Request, Then, serving, status

KILLS = int(os.environ.get("TRIPLINE_TESTS_KILLS", "5"))
SEED = int(os.environ.get("TRIPLINE_TESTS_SEED") or random.randrange(10**6))
DEVICES = 4
TRIPS = 5
SAMPLES = 60
FIRST_TRIP_MS = 1_735_689_600_000
HOUR_MS = 3_600_000


def answer(moments: random.Random) -> Reply:
    """A receiver of the rough sort: mostly well, now and then slow, broken, or gone in the middle."""
    chance = moments.random()
    if chance < 0.9:
        return OK
    if chance < 0.94:
        return Reply(status(200), after_s=0.05)
    return Reply(status(500)) if chance < 0.97 else Reply(b"", Then.CLOSE)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_kill_at_random_moments_while_pushing_loses_no_message_and_repeats_only_under_the_same_id(tmp_path):
    data = tmp_path / "data"
    moments = random.Random(SEED)
    print(f"seed {SEED}")
    server = servers.start(data)

    receiver = Receiver(lambda _: answer(moments))
    async with serving(receiver):
        company = await asyncio.to_thread(Company, server.api, data)
        with company:
            asked = {"notifyHost": receiver.url, "notifyMsgType": "1,2"}
            record = company.http.put(f"/api/tre/v1/company/{company.record['id']['id']}", json=asked)
            assert record.status_code == 200, record.text
            registered = [await asyncio.to_thread(company.vehicle_with_sensor, n) for n in range(DEVICES)]
        tls = ssl.create_default_context(cafile=str(server.ca))
        devices = [CarefulDevice(one.token, server.device_host, server.device_port, tls) for one in registered]
        running = server
        async with asyncio.TaskGroup() as tasks:
            playing = [tasks.create_task(play(device)) for device in devices]
            for _ in range(KILLS):
                await asyncio.sleep(moments.uniform(0.02, 0.5))
                running.kill()
                assert running.process.stdout is not None
                running.process.stdout.close()
                running = await asyncio.to_thread(servers.start, data)
                for device in devices:
                    device.port = running.device_port
            await asyncio.gather(*playing)
        await until_empty(data)
        assert await asyncio.to_thread(running.stop) == 0
        assert running.process.stdout is not None
        running.process.stdout.close()

    database = stores.Database(data)
    sensors = [sensor for (sensor,) in database.rows("SELECT id FROM sensor")]
    trips = dict(database.rows("SELECT sensor_id, count(*) FROM trip GROUP BY sensor_id"))
    assert trips == dict.fromkeys(sensors, TRIPS)
    assert database.damage() == []
    assert_complete_and_in_order(receiver.requests, sensors)


async def play(device: CarefulDevice) -> None:
    """Publish trip after trip until every message is acknowledged."""
    for trip in range(TRIPS):
        device.acknowledged.clear()
        await device.play(drives.straight_trip(trip + 1, FIRST_TRIP_MS + trip * HOUR_MS, samples=SAMPLES))


async def until_empty(data: Path) -> None:
    """Wait until nothing is left to be sent."""
    database = stores.Database(data)
    async with asyncio.timeout(60):
        for _ in range(10_000):
            if database.rows("SELECT count(*) FROM push_outbox") == [(0,)]:
                break
            await asyncio.sleep(0.05)


def assert_complete_and_in_order(requests: list[Request], sensors: list[str]) -> None:
    """Each sample and each trip came under one id; the first arrivals of a sensor are in the order of its messages."""
    said = defaultdict(set)
    first: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for request in requests:
        if request.id not in said:
            message = json.loads(request.body)
            payload = message["pld"]
            last = 1 if message["ty"] == "TRIP" else 0
            first[message["sensorId"]].append((payload["tid"], payload.get("clt", 0) or 2**60 * last))
        said[request.id].add(request.body)
    assert {len(bodies) for bodies in said.values()} == {1}
    assert sorted(first) == sorted(sensors)
    for messages in first.values():
        assert len(messages) == TRIPS * (SAMPLES + 1)
        assert len(set(messages)) == len(messages)
        assert messages == sorted(messages)
    assert len(requests) >= len(said)
