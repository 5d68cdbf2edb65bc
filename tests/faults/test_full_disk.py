"""The disk of an embedded server is full under load: devices wait, reads are answered, and what was told is kept."""

import contextlib
import json
import sqlite3
import ssl
import time
from typing import Any

import httpx
import pytest
from tests.support import faults, faults_disk, producers, servers, waits
from tests.support.fleet import Company

pytestmark = pytest.mark.deep

DEVICES = 8
DISK_MIB = 64
EMBEDDED = {"TRIPLINE_STORE_URL": "", "TRIPLINE_LOG_FORMAT": "json"}


@pytest.mark.slow
@pytest.mark.sqlite("a full disk under its file")
def test_full_disk_of_an_embedded_server_under_load_takes_nothing_and_loses_nothing() -> None:
    faults_disk.need("a full disk")
    with (
        faults_disk.disk(mib=DISK_MIB) as disk,
        servers.serving(disk.folder / "data", variables=EMBEDDED) as server,
        Company(server.api, server.data, variables=EMBEDDED) as company,
        contextlib.closing(sqlite3.connect(server.data / "tripline.db")) as database,
    ):
        registered = [company.vehicle_with_sensor(number) for number in range(DEVICES)]
        tls = ssl.create_default_context(cafile=str(server.ca))
        with producers.driving(registered, [(server.device_host, server.device_port)], tls, rate=60) as load:
            load.flows()
            disk.fill()
            _until_logged(server, "ingest.outage")
            written = company.http.post("/api/tre/v1/vehicle", json={"vehicleNo": "99A9999", "mileage": 1})
            read = company.http.get(f"/api/tre/v1/vehicle/{registered[0].vehicle_id}")
            while_full = load.acknowledged
            _until_abandoned_again(server, times=2)
            nothing_more = load.acknowledged
            disk.free()
            load.flows()

        def rows(statement: str) -> list[tuple[Any, ...]]:
            return database.execute(statement).fetchall()

        assert (written.status_code, read.status_code) == (503, 200)
        assert nothing_more == while_full
        faults.hold(load, rows)
        assert rows("PRAGMA integrity_check") == [("ok",)]
        # The log is on the full disk, too: it may hold a line that was cut off.
        events = [json.loads(line) for line in server.log() if line.startswith("{") and line.endswith("}")]
        assert [each for each in events if each["level"] == "error"] == []


def _until_logged(server: servers.Running, event: str) -> None:
    waits.seen(lambda: any(f'"{event}"' in line for line in server.log()), within_s=30)


def _until_abandoned_again(server: servers.Running, *, times: int) -> None:
    """Wait until so many more batches were not kept: the log says it once a minute."""
    until = time.monotonic() + 30
    seen = {_abandoned(server)}
    while len(seen) <= times:
        assert time.monotonic() < until, seen
        time.sleep(0.3)
        seen.add(_abandoned(server))


def _abandoned(server: servers.Running) -> str:
    metrics = httpx.get(f"{server.api}/metrics", timeout=20).text
    return next(
        line for line in metrics.splitlines() if line.startswith('tripline_ingest_frames_total{kind="abandoned"')
    )
