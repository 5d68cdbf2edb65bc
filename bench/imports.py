"""Row 9: a CSV file of 100,000 vehicles over REST, and what devices notice of it.

A real server, TLS, SQLite with `synchronous=FULL` on the disk that holds this folder. The company is a partner, whose
vehicles are each lent to the operator as well. Meanwhile one device publishes every 10 ms, or as soon as the message
before is acknowledged, and the time from each to its PUBACK is measured.
"""

import asyncio
import json
import random
import re
import ssl
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from bench.device_channel import disk
from bench.table import Figure
from tests.support import fleet, servers
from tests.support.device import connect_packet, publish_packet

ROWS, QUICK_ROWS = 100_000, 20_000
EVERY_S = 0.01
PARTNER = "admin@partner.example"
_NUMBER = re.compile(r"^(RssAnon|RssFile):\s+(\d+) kB", re.MULTILINE)


def measure(quick: bool) -> list[Figure]:
    """Time, memory and PUBACK latency, for all rows at once and for bad rows skipped."""
    rows = QUICK_ROWS if quick else ROWS
    with (
        tempfile.TemporaryDirectory(dir=disk()) as made,
        servers.serving(Path(made) / "data") as server,
        fleet.Company(server.api, server.data) as company,
    ):
        device = company.vehicle_with_sensor(1).token
        partner = _partner(company)
        figures = _idle(server, device)
        for number, query in enumerate(({}, {"skipBadRows": "true"})):
            figures += _import(server, partner, device, _file(rows, number), query)
    return figures


def _partner(company: fleet.Company) -> dict[str, str]:
    """The headers of a partner's administrator."""
    body = {"name": "P", "picName": "P", "picEmail": PARTNER, "picPasswd": fleet.PASSWORD}
    company.post("/api/tre/v1/company", body)
    pair = company.post("/api/auth/login", {"username": PARTNER, "password": fleet.PASSWORD})
    return {"X-Authorization": f"Bearer {pair['token']}", "Content-Type": "text/csv"}


def _file(rows: int, number: int) -> bytes:
    """So many vehicles, with every column, in no order."""
    numbers = list(range(rows))
    random.Random(number).shuffle(numbers)
    head = "vehicleNo,vendor,modelCode,modelName,modelYear,missionType,fuelType,mileage,category,usage,displacement"
    line = "Hyundai,AE,Ioniq,2018,AUTO,GASOLINE,{}.5,PERSONAL,sales,1580"
    return "\n".join([head, *(f"{number}가{each:06d},{line.format(each)}" for each in numbers)]).encode()


@dataclass
class Probe:
    """A device that publishes all the time, and what it waited for each PUBACK, ms."""

    server: servers.Running
    token: str
    waited_ms: list[float] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Until told to stop."""
        asyncio.run(self._run())

    async def _run(self) -> None:
        tls = ssl.create_default_context(cafile=str(self.server.ca))
        reader, writer = await asyncio.open_connection(
            self.server.device_host, self.server.device_port, ssl=tls, server_hostname="localhost"
        )
        writer.write(connect_packet(self.token))
        await reader.readexactly(4)
        while not self.stop.is_set():
            now_ms = time.time_ns() // 1_000_000
            item = {"tid": 1, "clt": now_ms, "lat": 37.5, "lon": 127.0, "sp": 50}
            body = json.dumps({"ty": 2, "ts": now_ms, "pld": item}).encode()
            sent = time.perf_counter()
            writer.write(publish_packet("v1/sensors/me/tre", body, 1))
            await reader.readexactly(4)
            self.waited_ms.append((time.perf_counter() - sent) * 1000)
            await asyncio.sleep(max(0.0, sent + EVERY_S - time.perf_counter()))
        writer.close()
        await writer.wait_closed()


def _idle(server: servers.Running, device: str) -> list[Figure]:
    probe = Probe(server, device)
    thread = threading.Thread(target=probe.run)
    thread.start()
    time.sleep(3)
    probe.stop.set()
    thread.join()
    return _waits("9 no import", probe, {})


def _import(
    server: servers.Running, headers: dict[str, str], device: str, content: bytes, query: dict[str, str]
) -> list[Figure]:
    row = f"9 {content.count(10):,} vehicles, {'row by row' if query else 'all or none'}"
    probe, before, peak = Probe(server, device), _memory(server), [0.0]
    threads = [threading.Thread(target=probe.run), threading.Thread(target=_watch, args=(server, probe.stop, peak))]
    for thread in threads:
        thread.start()
    started = time.perf_counter()
    url = f"{server.api}/api/tre/v1/vehicles/bulk"
    report = httpx.post(url, content=content, headers=headers, params=query, timeout=120).json()
    took = time.perf_counter() - started
    probe.stop.set()
    for thread in threads:
        thread.join()
    assert report["created"] == report["rows"], report
    return [
        Figure(row=row, name="seconds", value=took, gate=30, stretch=10, at_least=False, detail=report),
        Figure(row=row, name="memory beside the file, MiB", value=peak[0] - before, gate=200, at_least=False),
        *_waits(row, probe, report),
    ]


def _waits(row: str, probe: Probe, detail: dict[str, Any]) -> list[Figure]:
    waited = sorted(probe.waited_ms)
    p99 = waited[int(len(waited) * 0.99)]
    return [
        Figure(row=row, name="PUBACK p99, ms", value=p99, at_least=False, detail=detail),
        Figure(row=row, name="longest PUBACK, ms", value=waited[-1], at_least=False),
    ]


def _watch(server: servers.Running, stop: threading.Event, peak: list[float]) -> None:
    while not stop.wait(0.02):
        peak[0] = max(peak[0], _memory(server))


def _memory(server: servers.Running) -> float:
    """Memory of the process, MiB; the database file that is mapped into it counts too."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return sum(int(found[1]) for found in _NUMBER.findall(status)) / 1024
