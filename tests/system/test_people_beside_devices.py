"""Slow reads of one account delay no device, no readiness check and no other account."""

import asyncio
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support import drives, servers
from tests.support.device import CarefulDevice
from tests.support.fleet import Company

pytestmark = pytest.mark.deep

SLOW_S = 1.0
SLOW = f"""
import sys, time
from tripline import cli
from tripline.http import reads

page = reads.page

async def slow_page(request, work, **more):
    def slow(tx):
        if b"textSearch=slow" in request.scope["query_string"]:
            time.sleep({SLOW_S})
        return work(tx)
    return await page(request, slow, **more)

reads.page = slow_page
sys.exit(cli.run(sys.argv[1:]))
"""
"""The program, where a search for this word takes a second of a reader thread."""
READS = 24
DEVICES = 6
"""More than are read on the event loop itself."""
START_MS = 1_735_689_600_000


async def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long the work took on a thread, and what it gave."""
    before = time.monotonic()
    result = await asyncio.to_thread(work)
    return time.monotonic() - before, result


def test_slow_reads_of_an_account_delay_no_device_no_readiness_and_no_other_account(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with (
        servers.serving(data, program=[sys.executable, "-c", SLOW]) as server,
        Company(server.api, data) as company,
        Company(server.api, data, service_type="another-fleet") as other,
    ):
        boxes = [company.vehicle_with_sensor(number) for number in range(DEVICES)]
        tls = ssl.create_default_context(cafile=str(server.ca))
        slow = f"/api/tre/v1/company/{company.record['id']['id']}/vehicles"

        async def drive() -> float:
            before = time.monotonic()
            async with asyncio.TaskGroup() as tasks:
                for box in boxes:
                    device = CarefulDevice(box.token, server.device_host, server.device_port, tls)
                    tasks.create_task(device.play(drives.straight_trip(1, START_MS)[:5]))
            return time.monotonic() - before

        async def scenario() -> tuple[dict[str, float], int]:
            took: dict[str, float] = {}
            limits = httpx.Limits(max_connections=READS)
            headers = {"X-Authorization": company.http.headers["X-Authorization"]}
            async with (
                httpx.AsyncClient(base_url=server.api, headers=headers, timeout=60, limits=limits) as http,
                asyncio.TaskGroup() as tasks,
            ):
                asked = [tasks.create_task(http.get(slow, params={"textSearch": "slow"})) for _ in range(READS)]
                await asyncio.sleep(0.5)
                took["devices"] = await drive()
                path = f"/api/tre/v1/company/{other.record['id']['id']}/vehicles"
                took["other"], _ = await timed(lambda: other.get(path, limit=100))
                took["ready"], ready = await timed(lambda: httpx.get(f"{server.api}/health/ready", timeout=20))
                assert ready.status_code == 200
                took["devices again"] = await drive()
                done = sum(each.done() for each in asked)
                for each in asked:
                    each.cancel()
            return took, done

        took, done = asyncio.run(scenario())

    assert {name: seconds for name, seconds in took.items() if seconds > 2 * SLOW_S} == {}
    assert done < READS, "there was nothing to wait for"
