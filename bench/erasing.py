"""Row 12: a vehicle with 150,000 microtrips is deleted, and what devices notice of it until the last one is erased.

A real server, TLS, SQLite with `synchronous=FULL` on the disk that holds this folder; fifty devices publish 200
messages a second meanwhile (`probe.py`). How long the one writer is kept shows in what they wait.
"""

import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Final

from bench import probe
from bench.device_channel import disk
from bench.table import Figure
from tests.support import fleet, servers

from tripline.domain import ids

MICROTRIPS, QUICK_MICROTRIPS = 150_000, 30_000
IDLE_S: Final = 3
PATIENCE_S: Final = 300
SAMPLES: Final = bytes(200)
MAKER: Final = ids.TimeIds(node=0xE7A5E)


def measure(quick: bool) -> list[Figure]:
    """The deletion's time, the erasing's, and PUBACK latency with and without."""
    microtrips = QUICK_MICROTRIPS if quick else MICROTRIPS
    row = f"12 deletion of a vehicle with {microtrips:,} microtrips"
    with (
        tempfile.TemporaryDirectory(dir=disk()) as made,
        servers.serving(Path(made) / "data") as server,
        fleet.Company(server.api, server.data) as company,
    ):
        devices = [company.vehicle_with_sensor(number).token for number in range(probe.DEVICES)]
        vehicle_id = company.vehicle_with_sensor(probe.DEVICES).vehicle_id
        _drive(server.data, vehicle_id, microtrips)
        with probe.publishing(server, devices) as idle:
            time.sleep(IDLE_S)
        with probe.publishing(server, devices) as probed:
            started = time.perf_counter()
            answer = company.http.delete(f"/api/tre/v1/vehicle/{vehicle_id}")
            answered = time.perf_counter() - started
            assert answer.status_code == 200, answer.text
            _await_erased(server.data)
            erased = time.perf_counter() - started
    return [
        *idle.figures("12 no deletion", {}),
        Figure(row=row, name="answered after, ms", value=answered * 1000, at_least=False),
        Figure(row=row, name="erased after, seconds", value=erased, at_least=False),
        *probed.figures(row, {}),
    ]


def _drive(data: Path, vehicle_id: str, microtrips: int) -> None:
    """Trips of a thousand microtrips each, long ago."""
    database = sqlite3.connect(data / "tripline.db", timeout=30)
    with database:
        company_id, service_type = database.execute(
            "SELECT company_id, service_type FROM vehicle WHERE id = ?", (vehicle_id,)
        ).fetchone()
        first = MAKER.take(microtrips, now_ms=1_700_000_000_000)
        trips = range(first, first + microtrips, 1_000)
        database.executemany(
            "INSERT INTO trip (no, id, created_ms, company_id, vehicle_id, service_type, device_type, parking, state)"
            " VALUES (?, ?, ?, ?, ?, ?, 'GPS', 0, 'CLOSED')",
            [(no, MAKER.text(no), ids.ms_of_no(no), company_id, vehicle_id, service_type) for no in trips],
        )
        database.executemany(
            "INSERT INTO microtrip (no, trip_no, id, ty, payload, samples) VALUES (?, ?, ?, 2, ?, ?)",
            (
                (no, trip_no, MAKER.text(no), b'{"tid":1}', SAMPLES)
                for trip_no in trips
                for no in range(trip_no, min(trip_no + 1_000, first + microtrips))
            ),
        )
    database.close()


def _await_erased(data: Path) -> None:
    """Returns when the list of what waits to be erased is empty."""
    database = sqlite3.connect(f"file:{data / 'tripline.db'}?mode=ro", uri=True)
    end = time.monotonic() + PATIENCE_S
    while database.execute("SELECT count(*) FROM erasure").fetchone() != (0,):
        assert time.monotonic() < end, "the eraser does not end"
        time.sleep(0.1)
    assert database.execute("SELECT count(*) FROM trip WHERE created_ms < 1700001000000").fetchone() == (0,)
    database.close()
