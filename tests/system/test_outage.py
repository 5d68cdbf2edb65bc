"""The database cannot be written for longer than the server waits for it: devices wait, and lose nothing."""

import asyncio
import sqlite3
import ssl
from collections import Counter
from pathlib import Path

import pytest
from tests.support import drives, servers
from tests.support.device import CarefulDevice
from tests.support.fleet import Company

from tripline.store.database.sqlite_files import BUSY_MS

START_MS = 1_735_689_600_000


@pytest.mark.deep
@pytest.mark.sqlite("who waits for SQLite's lock how long")
@pytest.mark.slow
def test_database_locked_beyond_the_wait_is_survived_without_a_false_acknowledgement(tmp_path: Path) -> None:
    data, log = tmp_path / "data", tmp_path / "data.stderr"
    with servers.serving(data) as server:
        with Company(server.api, data) as company:
            registered = company.vehicle_with_sensor(1)
        tls = ssl.create_default_context(cafile=str(server.ca))
        device = CarefulDevice(registered.token, server.device_host, server.device_port, tls)
        bodies = drives.straight_trip(1, START_MS)
        database = sqlite3.connect(data / "tripline.db", isolation_level=None, check_same_thread=False)

        async def with_a_lock() -> int:
            database.execute("BEGIN IMMEDIATE")
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(device.play(bodies))
                # One wait after another: who is connected is written before what devices send.
                while "ingest.outage" not in log.read_text():  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
                while_locked = len(device.acknowledged)
                database.execute("ROLLBACK")
            return while_locked

        while_locked = asyncio.run(asyncio.wait_for(with_a_lock(), 5 * BUSY_MS / 1000))

        assert while_locked == 0
        assert device.resent > 0
        stored = database.execute("SELECT ts FROM microtrip").fetchall()
        database.close()
        assert Counter(ts for (ts,) in stored) == Counter(START_MS + index * 2_000 for index in range(80))
