"""Power cuts under load: what was acknowledged is there exactly once, and every closed trip has exactly one score."""

import asyncio
import os
import random
import ssl
from collections import Counter
from pathlib import Path

import pytest
from tests.support import drives, servers, stores, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company, Registered

KILLS = int(os.environ.get("TRIPLINE_TESTS_KILLS", "15"))
FEW = 2
SEED = int(os.environ.get("TRIPLINE_TESTS_SEED") or random.randrange(10**6))
"""Other moments in each run: what one run's kills do not hit, another's do."""
DEVICES = 4
FIRST_TRIP_MS = 1_735_689_600_000
HOUR_MS = 3_600_000
SAMPLES = 80


class Load:
    """Devices that publish trip after trip, from threadless tasks, until they are told to come to an end."""

    def __init__(self, server: servers.Running, registered: list[Registered]) -> None:
        tls = ssl.create_default_context(cafile=str(server.ca))
        self.devices = [CarefulDevice(one.token, server.device_host, server.device_port, tls) for one in registered]
        self.trips = [0] * len(registered)
        self.bodies: list[list[bytes]] = [[] for _ in registered]
        self._last_round = False

    def move_to(self, server: servers.Running) -> None:
        """The next connection goes to this server."""
        for device in self.devices:
            device.port = server.device_port

    def finish(self) -> None:
        """No trips after the ones under way."""
        self._last_round = True

    async def run(self) -> None:
        """Return when every device has everything acknowledged that it ever published."""
        async with asyncio.TaskGroup() as tasks:
            for index in range(len(self.devices)):
                tasks.create_task(self._drive(index))

    def resent(self) -> int:
        """How many messages a kill hit under way."""
        return sum(device.resent for device in self.devices)

    async def _drive(self, index: int) -> None:
        device = self.devices[index]
        while not self._last_round:
            device.acknowledged.clear()
            start_ms = FIRST_TRIP_MS + self.trips[index] * HOUR_MS
            bodies = drives.straight_trip(self.trips[index] + 1, start_ms, samples=SAMPLES)
            await device.play(bodies)
            self.bodies[index] += bodies
            self.trips[index] += 1


@pytest.mark.parametrize("kills", [FEW, pytest.param(KILLS, marks=[pytest.mark.deep, pytest.mark.slow])])
@pytest.mark.timeout(900)
def test_kill_at_random_moments_under_load_keeps_everything_acknowledged_exactly_once(tmp_path, kills):
    """Few kills go on until one of them hit messages under way."""
    data = tmp_path / "data"
    moments = random.Random(SEED)
    print(f"seed {SEED}")
    server = servers.start(data)
    with Company(server.api, data) as company:
        registered = [company.vehicle_with_sensor(number) for number in range(DEVICES)]
    load = Load(server, registered)

    async def with_power_cuts() -> servers.Running:
        running = server
        async with asyncio.TaskGroup() as tasks:
            driving = tasks.create_task(load.run())
            for kill in range(KILLS):
                if kill >= kills and load.resent():
                    break
                await asyncio.sleep(moments.uniform(0.02, 0.6))
                running.kill()
                assert running.process.stdout is not None
                running.process.stdout.close()
                running = await asyncio.to_thread(servers.start, data)
                load.move_to(running)
            load.finish()
            await driving
        return running

    last = asyncio.run(with_power_cuts())
    _wait_until_nothing_is_waiting_to_be_scored(data)
    assert last.stop() == 0
    assert last.process.stdout is not None
    last.process.stdout.close()

    assert sum(load.trips) >= kills // 2, "the load was too light to say anything"
    assert load.resent() > 0, "no kill hit a message under way"
    database = stores.Database(data)
    for one, trips in zip(registered, load.trips, strict=True):
        _assert_kept_once_and_scored_once(database, one, trips)
    assert database.rows("SELECT count(*) FROM rejected_message") == [(0,)]
    assert database.damage() == []


def _wait_until_nothing_is_waiting_to_be_scored(data: Path) -> None:
    waits.seen(
        lambda: stores.Database(data).rows("SELECT count(*) FROM scoring_job"),
        lambda found: found == [(0,)],
        within_s=30,
    )


def _assert_kept_once_and_scored_once(database: stores.Database, one: Registered, trips: int) -> None:
    times = database.rows(
        "SELECT m.ts FROM microtrip m JOIN trip t ON t.no = m.trip_no WHERE t.sensor_id = ?", one.sensor_id
    )
    expected = Counter(
        FIRST_TRIP_MS + trip * HOUR_MS + sample * 2_000 for trip in range(trips) for sample in range(SAMPLES)
    )
    assert Counter(ts for (ts,) in times) == expected

    rows = database.rows(
        "SELECT t.tid, t.state, count(m.no), (SELECT count(*) FROM driving_score s WHERE s.trip_no = t.no)"
        " FROM trip t LEFT JOIN microtrip m ON m.trip_no = t.no WHERE t.sensor_id = ? GROUP BY t.no ORDER BY t.tid",
        one.sensor_id,
    )
    assert rows == [(trip + 1, "COMPLETE", SAMPLES, 1) for trip in range(trips)]

    total = database.rows("SELECT count FROM vehicle_score WHERE vehicle_id = ?", one.vehicle_id)
    assert total == [(trips,)]
