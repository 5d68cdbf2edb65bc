"""Row 20: pages of 20 scores on PostgreSQL, among ten million scores and a hundred million samples.

Two thousand vehicles over three years: half of the scores belong to 200 that drive all day, whose thousandth page is
asked for too. Samples lie in weekly parts, thirty to a row with the message as sent, as the device listener stores
them. SQL makes all of it; then the database is vacuumed and analysed, and one api process serves it over HTTP.

Server and PostgreSQL have one core, wrk the other. Rounds of first and thousandth pages take turns; a figure is
requests per second of CPU time of the server and PostgreSQL together. On SQLite: `pages.py`.
"""

import contextlib
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import fleet, pages, peers, shared
from bench.device_channel import disk
from bench.table import Figure, of_rounds
from tests.support.postgres import Cluster

from tripline.domain import ids, samples
from tripline.store.database import partitions, postgres, postgres_statements

SCORES: Final = 10_000_000
SAMPLES: Final = 100_000_000
POINTS: Final = 30
TO_A_TRIP: Final = 30
VEHICLES, LONG = 2_000, 200
YEARS_MS: Final = 3 * 365 * 86_400_000
AT_ONCE: Final = 500_000
"""Rows of one statement."""
QUICK_SCALE: Final = 0.01
ROUNDS, SECONDS, QUICK_ROUNDS, QUICK_SECONDS = 7, 5, 2, 1
SUFFIX: Final = "8000-01230045bec5"
PATTERNS: Final = 64
MEMORY: Final = {"maintenance_work_mem": "512MB", "max_wal_size": "2GB", "max_locks_per_transaction": 512}
_INDEXES: Final = ("ix_driving_score_vehicle", "ix_driving_score_user")
_UNIQUE: Final = "uq_driving_score_trip_id"
"""Made again after the rows, as sorted input."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is made."""

    scores: int
    microtrips: int
    step_ms: int
    """Between two scores of the fleet."""
    first_ms: int

    @property
    def far(self) -> int:
        """The page that is asked for deep in the list: 1,000, or the last but one of a small database."""
        return min(pages.PAGE_NUMBER, self.scores // 2 // LONG // pages.LIMIT - 1)

    def score_id(self, number: int, *, before: int) -> str:
        """The id of the last of the newest `before` scores of one of the vehicles that drive all day."""
        row = 2 * (number + LONG * (self.scores // 2 // LONG - before))
        return _id(ids.first_no(self.first_ms) + row * self.step_ms * 10_000)


@dataclass(frozen=True, slots=True)
class Server(pages.Server):
    """The api process, with PostgreSQL behind it."""

    database: Cluster

    def cpu_s(self) -> float:
        """CPU time that both have used so far."""
        return shared.cpu_s(self.process.pid) + shared.cpu_s(self.database.pid)


def measure(quick: bool, *, scale: float | None = None) -> list[Figure]:
    """Requests a second of a core, page 1,000 to page 1, what a request waits. `scale`: of the rows."""
    rounds, seconds = (QUICK_ROUNDS, QUICK_SECONDS) if quick else (ROUNDS, SECONDS)
    pages.install()
    with shared.database(durable=False, **MEMORY) as database, tempfile.TemporaryDirectory(dir=disk()) as made:
        fleet.make_on(database.url(shared.DATABASE), VEHICLES)
        began = time.monotonic()
        size = _made(database, scale or (QUICK_SCALE if quick else 1.0))
        built = {"built_s": time.monotonic() - began, **_weight(database)}
        with _served(Path(made), database) as server:
            folder = Path(made)
            asked = _paths(database, server, size)
            scripts = {name: pages.script(folder / name, listed, server) for name, listed in asked.items()}
            results: dict[str, list[pages.Round]] = {name: [] for name in scripts}
            for each in scripts.values():
                pages.load(server, each, 1)
            watch = shared.Watch(server=server.process.pid, postgres=database.pid)
            for _ in range(rounds):
                for name, each in scripts.items():
                    results[name].append(pages.load(server, each, seconds))
            built |= watch.cores()
    return _figures(size, built, results)


def _made(database: Cluster, scale: float) -> Size:
    """Fill the database."""
    scores = max(2 * LONG * pages.LIMIT * 3, int(SCORES * scale))
    microtrips = int(SAMPLES * scale) // POINTS
    now_ms = int(time.time() * 1000)
    size = Size(scores, microtrips, max(1, YEARS_MS // scores), now_ms - YEARS_MS)
    weeks = range(partitions.week_of(size.first_ms), now_ms, partitions.WEEK_MS)
    with postgres.open_engine(database.url(shared.DATABASE)).connect() as connection:
        connection.exec_driver_sql("BEGIN")
        tx = postgres_statements.PostgresTx(connection)
        partitions.make_all(
            tx, [partitions.Partition(table.name, week) for table in partitions.TABLES for week in weeks]
        )
        connection.exec_driver_sql("COMMIT")
    with contextlib.closing(database.connect(shared.DATABASE)) as connection:
        kept = [connection.execute("SELECT pg_get_indexdef(%s::regclass)", [name]).fetchone() for name in _INDEXES]
        for name in _INDEXES:
            connection.execute(f"DROP INDEX {name}")
        connection.execute(f"ALTER TABLE driving_score DROP CONSTRAINT {_UNIQUE}")
        for statement in _VEHICLES:
            connection.execute(statement)
        connection.cursor().executemany("INSERT INTO bench_pattern VALUES (%s, %s, %s)", _patterns())
        connection.execute("ANALYZE bench_vehicle, bench_pattern")
        for statement, rows in ((_SCORES, size.scores), (_MICROTRIPS, size.microtrips)):
            for first in range(0, rows, AT_ONCE):
                connection.execute(statement % _numbers(size, first, min(rows, first + AT_ONCE) - 1))
        connection.execute(f"ALTER TABLE driving_score ADD CONSTRAINT {_UNIQUE} UNIQUE (trip_id)")
        for definition in kept:
            assert definition is not None
            connection.execute(definition[0])
        connection.execute("DROP TABLE bench_pattern, bench_vehicle")
        connection.execute("VACUUM (ANALYZE)")
    return size


def _numbers(size: Size, first: int, last: int) -> dict[str, int]:
    return {
        "first": first,
        "last": last,
        "first_no": ids.first_no(size.first_ms),
        "ticks": size.step_ms * 10_000,
        "first_ms": size.first_ms,
        "step_ms": size.step_ms,
        "long": LONG,
        "others": VEHICLES - LONG,
        "to_a_trip": TO_A_TRIP,
        "apart": max(1, size.scores * TO_A_TRIP // max(1, size.microtrips)),
        "patterns": PATTERNS,
    }


_VEHICLES: Final = (
    "CREATE TABLE bench_vehicle AS SELECT row_number() OVER (ORDER BY vehicle_no) - 1 AS number, id, company_id"
    " FROM vehicle",
    "CREATE UNIQUE INDEX ON bench_vehicle (number)",
    "CREATE TABLE bench_pattern (number integer PRIMARY KEY, payload bytea NOT NULL, samples bytea NOT NULL)",
)


def _patterns() -> list[tuple[int, bytes, bytes]]:
    """Messages of thirty points of drives that differ, as sent and packed, so that rows take the room of real ones."""
    rng, made = random.Random(7), []
    for number in range(PATTERNS):
        at_ms, lat, lon = 1_735_689_600_000 + number * 60_000, 35 + rng.random(), 127 + rng.random()
        items, packed = [], b""
        for _ in range(POINTS):
            lat, lon, at_ms = lat + rng.random() / 5e3, lon + rng.random() / 5e3, at_ms + 1000
            speed = rng.randrange(110)
            item = {"tid": 41, "lat": round(lat, 6), "lon": round(lon, 6), "alt": round(90 * rng.random(), 1)}
            items.append({**item, "sp": speed, "dop": 1.1, "nos": 9, "tdis": rng.randrange(30), "clt": at_ms})
            place = (item["lat"], item["lon"])
            packed += samples.RECORD.pack(at_ms, *place, speed, samples.NO_FLAGS, samples.FLAG_OWN_TIME)
        made.append((number, json.dumps(items, separators=(",", ":")).encode(), packed))
    return made


_UUID: Final = (
    "lpad(to_hex({no} & 4294967295), 8, '0') || '-' || lpad(to_hex(({no} >> 32) & 65535), 4, '0')"
    " || '-1' || lpad(to_hex(({no} >> 48) & 4095), 3, '0') || '-" + SUFFIX + "'"
)
_SCORES: Final = (
    """
INSERT INTO driving_score
SELECT no, """
    + _UUID.format(no="no")
    + """, at_ms + 600000, bench_vehicle.id, NULL, 100 * random(),
       row %% 7, row %% 7 / 2, row %% 7 * 3, row %% 7 * 3.0, 3000.0 + row %% 60000,
       1, bench_vehicle.company_id, at_ms / 86400000, 600000
FROM (SELECT row, %(first_no)s + row * %(ticks)s AS no, %(first_ms)s + row * %(step_ms)s AS at_ms,
             CASE row %% 2 WHEN 0 THEN row / 2 %% %(long)s ELSE %(long)s + row / 2 %% %(others)s END AS vehicle
      FROM generate_series(%(first)s::bigint, %(last)s) AS row) AS made
JOIN bench_vehicle ON bench_vehicle.number = made.vehicle ORDER BY row
"""
)
_MICROTRIPS: Final = (
    """
INSERT INTO microtrip (no, trip_no, id, ts, ty, payload, samples)
SELECT no, trip_no, """
    + _UUID.format(no="no")
    + """, at_ms, 2, payload, samples
FROM (SELECT %(first_no)s + trip * %(ticks)s AS trip_no, %(first_no)s + trip * %(ticks)s + part * 300000000 + 1 AS no,
             %(first_ms)s + trip * %(step_ms)s + part * 30000 AS at_ms, row
      FROM (SELECT row, row / %(to_a_trip)s * %(apart)s AS trip, row %% %(to_a_trip)s AS part
            FROM generate_series(%(first)s::bigint, %(last)s) AS row) AS numbered) AS made
JOIN bench_pattern ON bench_pattern.number = row * 17 %% %(patterns)s ORDER BY no
"""
)


def _id(no: int) -> str:
    """As `_UUID` makes it."""
    return f"{no & 0xFFFFFFFF:08x}-{no >> 32 & 0xFFFF:04x}-1{no >> 48 & 0xFFF:03x}-{SUFFIX}"


def _weight(database: Cluster) -> dict[str, int]:
    """Rows and bytes."""
    asked = "SELECT pg_database_size(current_database()), pg_total_relation_size('driving_score')"
    ((whole, scores),) = database.run(asked, database=shared.DATABASE)
    rows = {f"{table}s": shared.count(database, table) for table in ("driving_score", "microtrip")}
    return {"database_bytes": whole, "score_bytes": scores, **rows}


@contextlib.contextmanager
def _served(folder: Path, database: Cluster) -> Iterator[Server]:
    with served_with(folder, database) as api:
        port = int(api.api.rpartition(":")[2])
        yield Server(process=api, port=port, token=shared.admin_token(database), database=database)


@contextlib.contextmanager
def served_with(folder: Path, database: Cluster, **settings: str) -> Iterator[peers.Server]:
    """One api process with these settings, on the core that it shares with PostgreSQL."""
    for pid in (database.pid, *_started_by(database.pid)):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(pid, {pages.SERVER_CORE})
    core, variables = str(pages.SERVER_CORE), shared.variables(database, **settings)
    with peers.tripline(folder / "api", "api", variables=variables, cores=core) as api:
        yield api


def _started_by(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _paths(database: Cluster, server: Server, size: Size) -> dict[str, list[str]]:
    """Addresses of the first page of every vehicle, and of the thousandth of those that drive all day."""
    vehicles = [row[0] for row in database.run("SELECT id FROM vehicle ORDER BY vehicle_no", database=shared.DATABASE)]
    base = [f"{pages.PREFIX}/{each}/analytics/drivingScore?limit={pages.LIMIT}" for each in vehicles]
    before = (size.far - 1) * pages.LIMIT
    far = [f"{base[number]}&idOffset={size.score_id(number, before=before)}" for number in range(LONG)]
    first = [path for number, path in enumerate(base) if number % 10 == 0]
    for path in (first[0], first[-1], far[0], far[-1]):
        found = server.get(path)["data"]
        if len(found) != pages.LIMIT:
            raise RuntimeError(f"a page of {len(found)} scores: {path}")
    return {"first": first, "far": far}


def _figures(size: Size, built: dict[str, Any], results: dict[str, list[pages.Round]]) -> list[Figure]:
    row = f"20 page of 20 of {size.scores:,} scores, {size.microtrips * POINTS:,} samples, PostgreSQL"
    first, far = results["first"], results["far"]
    ratios = [b.per_cpu_s / a.per_cpu_s for a, b in zip(first, far, strict=True)]
    rates = [one.per_cpu_s for one in first]
    part = built["postgres"] / (built["postgres"] + built["server"])
    return [
        of_rounds(row=row, name="requests/s of a core, PostgreSQL's in it", rounds=rates, gate=1_000, stretch=1_500,
                  detail={**built, **pages.detail(first)}),
        of_rounds(row=row, name=f"page {size.far:,} to page 1", rounds=ratios, gate=0.9, stretch=0.97,
                  detail=pages.detail(far)),
        of_rounds(row=row, name="page 1, p50, ms", rounds=[one.p50_ms for one in first]),
        of_rounds(row=row, name="page 1, p99, ms", rounds=[one.p99_ms for one in first]),
        of_rounds(row=row, name=f"page {size.far:,}, p50, ms", rounds=[one.p50_ms for one in far]),
        of_rounds(row=row, name=f"page {size.far:,}, p99, ms", rounds=[one.p99_ms for one in far]),
        of_rounds(row=row, name="wrk's share of its core", rounds=[one.generator_share for one in first], gate=0.7,
                  at_least=False),
        Figure(row=row, name="PostgreSQL's part of that CPU time", value=part, detail=built),
        Figure(row=row, name="database, GiB", value=built["database_bytes"] / 2**30),
        Figure(row=row, name="made in, s", value=built["built_s"]),
    ]  # fmt: skip
