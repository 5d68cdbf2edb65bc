"""Row 9: CSV files of 100,000 vehicles and of 100,000 sensors over REST, and what devices notice of them.

A real server, TLS, SQLite with `synchronous=FULL` on the disk that holds this folder. The company is a partner, whose
vehicles are each delegated to the operator as well. Meanwhile fifty devices publish 200 messages a second (`probe.py`).
The peer keeps the same rows by one `executemany` of Python's sqlite3 in a file of the same schema, and checks nothing.
"""

import random
import re
import sqlite3
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
from bench import probe
from bench.device_channel import disk
from bench.table import Figure
from tests.support import fleet, servers

from tripline.store import migrate

ROWS, QUICK_ROWS = 100_000, 20_000
PARTNER = "admin@partner.example"
_NUMBER = re.compile(r"^(RssAnon|RssFile):\s+(\d+) kB", re.MULTILINE)
_IDLE_S = 3


def measure(quick: bool) -> list[Figure]:
    """Time, memory and PUBACK latency, for all rows at once and for bad rows skipped."""
    rows = QUICK_ROWS if quick else ROWS
    with (
        tempfile.TemporaryDirectory(dir=disk()) as made,
        servers.serving(Path(made) / "data") as server,
        fleet.Company(server.api, server.data) as company,
    ):
        devices = [company.vehicle_with_sensor(number).token for number in range(probe.DEVICES)]
        partner = _partner(company)
        with probe.publishing(server, devices) as idle:
            time.sleep(_IDLE_S)
        figures = idle.figures("9 no import", {})
        for noun, content, query in (
            ("vehicles", _vehicles(rows, 0), {}),
            ("vehicles", _vehicles(rows, 1), {"skipBadRows": "true"}),
            ("sensors", _sensors(rows), {}),
        ):
            figures += _import(server, partner, devices, noun, content, query)
    return figures


def _partner(company: fleet.Company) -> dict[str, str]:
    """The headers of a partner's administrator."""
    body = {"name": "P", "picName": "P", "picEmail": PARTNER, "picPasswd": fleet.PASSWORD}
    company.post("/api/tre/v1/company", body)
    pair = company.post("/api/auth/login", {"username": PARTNER, "password": fleet.PASSWORD})
    return {"X-Authorization": f"Bearer {pair['token']}", "Content-Type": "text/csv"}


def _shuffled(rows: int, number: int) -> list[int]:
    numbers = list(range(rows))
    random.Random(number).shuffle(numbers)
    return numbers


def _vehicles(rows: int, number: int) -> bytes:
    """So many vehicles, with every column, in no order."""
    head = "vehicleNo,vendor,modelCode,modelName,modelYear,missionType,fuelType,mileage,category,usage,displacement"
    line = "Hyundai,AE,Ioniq,2018,AUTO,GASOLINE,{}.5,PERSONAL,sales,1580"
    lines = (f"{number}가{each:06d},{line.format(each)}" for each in _shuffled(rows, number))
    return "\n".join([head, *lines]).encode()


def _sensors(rows: int) -> bytes:
    """So many sensors, each with an access token, in no order."""
    lines = (f"S-{each:06d},GPS,T{each:019d},Maker" for each in _shuffled(rows, 2))
    return "\n".join(["serialNo,type,credentialsId,vendor", *lines]).encode()


def _import(
    server: servers.Running,
    headers: dict[str, str],
    devices: list[str],
    noun: str,
    content: bytes,
    query: dict[str, str],
) -> list[Figure]:
    row = f"9 {content.count(10):,} {noun}, {'row by row' if query else 'all or none'}"
    stop, before, peak = threading.Event(), _memory(server), [0.0]
    watching = threading.Thread(target=_watch, args=(server, stop, peak))
    watching.start()
    with probe.publishing(server, devices) as probed:
        started = time.perf_counter()
        url = f"{server.api}/api/tre/v1/{noun}/bulk"
        report = httpx.post(url, content=content, headers=headers, params=query, timeout=120).json()
        took = time.perf_counter() - started
    stop.set()
    watching.join()
    assert report["created"] == report["rows"], report
    alone = _peer(server.data, noun, report["rows"])
    return [
        Figure(row=row, name="seconds", value=took, gate=30, stretch=10, at_least=False, detail=report),
        Figure(row=row, name="x executemany of the same rows", value=took / alone, at_least=False),
        Figure(row=row, name="memory beside the file, MiB", value=peak[0] - before, gate=200, at_least=False),
        *probed.figures(row, report),
    ]


def _peer(data: Path, noun: str, rows: int) -> float:
    """Seconds in which sqlite3 keeps the newest rows of the kind again, in a fresh file of the same schema."""
    tables = {"vehicles": ("vehicle", "vehicle_company"), "sensors": ("sensor",)}[noun]
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        path = Path(folder) / "peer.db"
        migrate.upgrade(path)
        with sqlite3.connect(data / "tripline.db") as ours:
            kept: dict[str, list[Any]] = {
                table: ours.execute(f"SELECT * FROM {table} ORDER BY rowid DESC LIMIT ?", (rows,)).fetchall()
                for table in tables
            }
        ours.close()
        peer = sqlite3.connect(path, isolation_level=None)
        peer.execute("PRAGMA synchronous=FULL")
        started = time.perf_counter()
        peer.execute("BEGIN")
        for table, of_table in kept.items():
            values = ", ".join("?" * len(of_table[0]))
            peer.executemany(f"INSERT INTO {table} VALUES ({values})", reversed(of_table))
        peer.execute("COMMIT")
        took = time.perf_counter() - started
        peer.close()
    return took


def _watch(server: servers.Running, stop: threading.Event, peak: list[float]) -> None:
    while not stop.wait(0.02):
        peak[0] = max(peak[0], _memory(server))


def _memory(server: servers.Running) -> float:
    """Memory of the process, MiB; the database file that is mapped into it counts too."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return sum(int(found[1]) for found in _NUMBER.findall(status)) / 1024
