"""`/health/ready`, REST, the log and `tripline doctor` when a disk fills up, or a database is damaged."""

import asyncio
import contextlib
import datetime
import json
import sqlite3
import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support import certificates, damage, drives, faults_disk, servers, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company

PATIENCE_S = 40
START_MS = 1_735_689_600_000
JSON_LOG = {"TRIPLINE_LOG_FORMAT": "json"}


def ready(server: servers.Running) -> tuple[int, dict[str, str]]:
    """The status, and what each failing check says."""
    answer = httpx.get(f"{server.api}/health/ready", timeout=20)
    body = answer.json()
    assert (body["status"] == "ready") is (answer.status_code == 200)
    return answer.status_code, {check["name"]: check["text"] for check in body["checks"] if not check["ok"]}


def metric(server: servers.Running, name: str) -> float:
    text = httpx.get(f"{server.api}/metrics", timeout=20).text
    return float(next(line.split()[-1] for line in text.splitlines() if line.startswith(name)))


@pytest.mark.deep
@pytest.mark.sqlite("a full disk under its file")
def test_disk_that_fills_up_is_told_before_the_first_write_fails() -> None:
    faults_disk.need("a disk that fills up")
    with (
        faults_disk.disk(mib=64) as disk,
        servers.serving(disk.folder / "data", variables=JSON_LOG | {"TRIPLINE_STORE_RESERVE_MIB": "16"}) as server,
        Company(server.api, server.data) as company,
    ):
        before = ready(server)
        disk.fill(but_bytes=12 * 2**20)
        waits.seen(lambda: ready(server)[0] == 503, within_s=PATIENCE_S)
        little = ready(server)
        written = company.http.post("/api/tre/v1/vehicle", json={"vehicleNo": "99A9999", "mileage": 1}).status_code
        free = metric(server, "tripline_disk_free_bytes")
        disk.free()
        waits.seen(lambda: ready(server)[0] == 200, within_s=PATIENCE_S)
        events = [json.loads(line) for line in server.log()]

    assert before == (200, {})
    assert list(little[1]) == ["disk"]
    assert f"MiB are free in {disk.folder}/data, less than store.reserve_mib (16)" in little[1]["disk"]
    assert written == 200
    assert 8 * 2**20 < free < 16 * 2**20
    assert [each["event"] for each in events if each["event"].startswith("health.")] == [
        "health.failing",
        "health.well",
    ]


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.sqlite("a damaged file")
def test_database_damaged_under_a_server_is_told_and_takes_nothing_until_it_is_repaired(tmp_path: Path) -> None:
    data = tmp_path / "data"
    database = data / "tripline.db"
    with servers.serving(data, variables=JSON_LOG) as server, Company(server.api, data) as company:
        registered = company.vehicle_with_sensor(1)
        tls = ssl.create_default_context(cafile=str(server.ca))
        device = CarefulDevice(registered.token, server.device_host, server.device_port, tls)
        sound = damage.checkpointed(database)
        for table in ("microtrip", "vehicle"):
            damage.spoil_table(database, table)
        bodies = drives.straight_trip(1, START_MS)

        async def damaged_then_repaired() -> dict[str, Any]:
            seen: dict[str, Any] = {}
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(device.play(bodies))
                await asyncio.to_thread(waits.seen, lambda: any('"ingest.outage"' in line for line in server.log()))
                await asyncio.to_thread(waits.seen, lambda: ready(server)[0] == 503)
                seen["ready"] = ready(server)
                seen["answer"] = company.http.get(f"/api/tre/v1/vehicle/{registered.vehicle_id}").status_code
                seen["doctor"] = servers.run("doctor", "--data", str(data))
                await asyncio.sleep(2)  # batch after batch fails meanwhile
                seen["acknowledged"] = len(device.acknowledged)
                seen["log"] = [json.loads(line) for line in server.log()]
                await asyncio.to_thread(server.stop)
                for left in ("tripline.db-wal", "tripline.db-shm"):
                    (data / left).unlink(missing_ok=True)
                database.write_bytes(sound)
                with servers.serving(data, *servers.same_listeners(server), variables=JSON_LOG) as again:
                    seen["again"] = ready(again)
                    async with asyncio.timeout(PATIENCE_S):
                        while len(device.acknowledged) < len(bodies):  # noqa: ASYNC110  the device has no event
                            await asyncio.sleep(0.05)
            return seen

        seen = asyncio.run(damaged_then_repaired())

    assert seen["ready"][0] == 503
    assert seen["ready"][1]["store"].startswith("The store is damaged: ")
    assert seen["answer"] == 503
    assert seen["acknowledged"] == 0
    assert seen["again"] == (200, {})
    assert (seen["doctor"].returncode, seen["doctor"].stderr) == (1, "")
    (wrong,) = [line for line in seen["doctor"].stdout.splitlines() if line.startswith("WRONG")]
    assert wrong.startswith(f"WRONG database: {database} is damaged: ")
    assert "restore a backup" in wrong and ".dump" in wrong
    logged = [each["event"] for each in seen["log"]]
    assert logged.count("ingest.outage") <= 2, "once a minute for each reason"
    (refused,) = [each for each in seen["log"] if each["event"] == "request.outage"]
    assert (refused["route"], refused["reason"][:20]) == ("/api/tre/v1/vehicle/{vehicleId}", "The store is damaged")
    assert "ingest.failed" not in logged
    with contextlib.closing(sqlite3.connect(database)) as connection:
        stored = [ts for (ts,) in connection.execute("SELECT ts FROM microtrip ORDER BY ts")]
        aside = connection.execute("SELECT count(*) FROM rejected_message").fetchone()
    assert stored == [START_MS + index * 2_000 for index in range(80)]
    assert aside == (0,)


def test_certificate_that_ended_is_told_with_its_end(tmp_path: Path) -> None:
    ended = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    made = certificates.make(tmp_path, ends=ended)
    variables = {"TRIPLINE_TLS_CERT": str(made.certificate), "TRIPLINE_TLS_KEY": str(made.key)}
    with servers.serving(tmp_path / "data", variables=variables) as server:
        status, wrong = ready(server)
        end_s = metric(server, "tripline_certificate_end_seconds")
        files = metric(server, "tripline_open_files "), metric(server, "tripline_open_files_limit ")

    assert status == 503
    assert wrong == {
        "certificate": f"The certificate expired at {ended:%Y-%m-%d %H:%M} UTC; clients refuse it. Renew it, then"
        " restart."
    }
    assert end_s == int(ended.timestamp())
    assert 0 < files[0] < files[1]
