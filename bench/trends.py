"""Row 26: pages of trends, of a ranking, and an explanation, beside a page of 20 scores on the same data.

100,000 vehicles of 50 companies (`companies.py`) with a score on each of twenty days, one that is half as large as all
others together; twenty scores of each of its vehicles that are asked for, and trips of an hour. Server and load as in
row 10. A figure is requests per second of the server's CPU time over those of the page of scores in the same round.
Percentiles are counted before. A page of a thousand days is timed by itself.

Not here: lists of things (`surface.py`), scoring and explaining without HTTP (`scoring.py`).
"""

import asyncio
import random
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from bench import pages, scoring, surface
from bench.companies import MAKER, Fleet, Made
from bench.device_channel import disk
from bench.table import Figure, of_rounds
from sqlalchemy import insert, select, update
from tests.support import kept_sums
from tests.support.scoring_rows import Rig

from tripline.domain import ids
from tripline.domain.trends import Period, Subject, Sums
from tripline.services.scores.standing_keeper import EVERY_MS, StandingKeeper
from tripline.store import tables
from tripline.store.database import sqlite
from tripline.store.database.sqlite import SqliteStore
from tripline.store.scores import standings
from tripline.store.transactions import WriteTx

FLEET: Final = Fleet(service_type="large", companies=50, vehicles=100_000, people=100)
QUICK: Final = Fleet(service_type="large", companies=50, vehicles=10_000, people=100)
FIRST_DAY: Final = 20_000
DAYS: Final = 20
LONG: Final = 1_000
"""Days with a score of the vehicles that are asked for."""
ASKED: Final = 50
"""Vehicles and trips that are asked for in turn."""
TRIPS: Final = 5
ROUNDS, QUICK_ROUNDS = 5, 2
DAY_MS: Final = 86_400_000
LAST_MS: Final = (FIRST_DAY + DAYS - 1) * DAY_MS + DAY_MS // 4


def measure(quick: bool) -> list[Figure]:
    """Each beside the page of scores."""
    fleet = QUICK if quick else FLEET
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        path = Path(folder) / "trends.db"
        there = surface.made(path, fleet)
        vehicles = _add(path, there)
        trips = asyncio.run(_driven(Path(folder), path, there))
        asyncio.run(_counted(path))
        return _measured(Path(folder), path, there, vehicles, trips, fleet, QUICK_ROUNDS if quick else ROUNDS)


def _add(path: Path, there: Made) -> list[str]:
    """Sums of every vehicle, and scores of those that are asked for; these."""
    engine = sqlite.open_engine(path)
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN")
        rows = connection.execute(select(tables.vehicle.c.id, tables.vehicle.c.company_id)).fetchall()
        every = sorted(row[0] for row in rows)
        asked = random.Random(7).sample(sorted(row[0] for row in rows if row[1] == there.big), ASKED)
        names = ("subject", "period", "day", "policy", "kind", *Sums._fields)
        driver: Any = connection.connection.driver_connection
        driver.executemany(
            f"INSERT INTO score_sum ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", _sums(every, asked)
        )
        kept_sums.rank(WriteTx(connection))
        connection.execute(insert(tables.driving_score), list(_scores(there, asked)))
        connection.exec_driver_sql("COMMIT")
    driver.close()
    return asked


def _sums(vehicles: list[str], asked: list[str]) -> Iterator[tuple[Any, ...]]:
    rng = random.Random(7)
    for vehicle_id in vehicles:
        days = LONG if vehicle_id in asked else DAYS
        for day in range(FIRST_DAY + DAYS - days, FIRST_DAY + DAYS):
            metres = rng.randrange(1_000, 300_000)
            burden = round(metres * rng.expovariate(10) * 1e6)
            sums = Sums(3, 1, 2, 1, 5_000, 3_600_000, metres, burden, metres // 2)
            yield vehicle_id, Period.DAY.value, day, 1, Subject.VEHICLE.value, *sums


def _scores(there: Made, vehicles: list[str]) -> Iterator[dict[str, Any]]:
    for vehicle_id in vehicles:
        first = MAKER.take(2 * pages.LIMIT, now_ms=LAST_MS)
        for no in range(first, first + 2 * pages.LIMIT):
            yield {
                "trip_no": no,
                "trip_id": MAKER.text(no),
                "created_ms": ids.ms_of_no(no) + 1_000,
                "vehicle_id": vehicle_id,
                "score": 91.5,
                "accel": 1,
                "de_accel": 0,
                "over_speed": 2,
                "over_speed_s": 4.0,
                "distance_m": 12_000.0,
                "company_id": there.big,
                "day": FIRST_DAY,
                "driving_ms": 600_000,
                "known_m": 6_000,
                "policy": 1,
            }


async def _driven(folder: Path, path: Path, there: Made) -> list[str]:
    """Trips of an hour of the company, scored; their ids."""
    rig = Rig(folder, store=SqliteStore(path))
    longest = scoring.recording(scoring.DRIVES / "drive_31.csv")
    rows = longest[np.arange(scoring.HOUR) % len(longest)]
    try:
        nos = [await rig.add_trip(scoring.messages(rows, number), vehicle_id=there.vehicle) for number in range(TRIPS)]
        of_company = update(tables.trip).where(tables.trip.c.no.in_(nos)).values(company_id=there.big, user_id=None)
        await rig.write(lambda tx: tx.run(of_company))
        await rig.drain()
        return [row[0] for row in await rig.rows(tables.trip, "id")]
    finally:
        await rig.store.close()


async def _counted(path: Path) -> None:
    """Count every percentile, without a rest."""
    store, now_ms = SqliteStore(path), LAST_MS
    worker = StandingKeeper(store=store, clock=lambda: now_ms, stopwatch=lambda: 0.0)
    try:
        await store.write(lambda tx: standings.note(tx, range(FIRST_DAY + DAYS - LONG, FIRST_DAY + DAYS)))
        while await worker.keep():
            pass
        now_ms += EVERY_MS
        while await worker.keep():
            pass
    finally:
        await store.close()


def _measured(
    folder: Path, path: Path, there: Made, vehicles: list[str], trips: list[str], fleet: Fleet, rounds: int
) -> list[Figure]:
    """The figures. A trend and a ranking are asked for once before the rounds."""
    prefix, limit = "/api/tre/v1_3", f"limit={pages.LIMIT}"
    row = f"26 trends, {fleet.vehicles:,} vehicles of a service type"
    with surface._served(path, there.big_admin) as server:
        ranking = f"{prefix}/company/{there.big}/analytics/ranking?{limit}&time={LAST_MS}"
        second = f"{ranking}&idOffset={server.get(ranking)['data'][-1]['id']['id']}"
        asked = {
            "page of scores": [f"{prefix}/vehicle/{each}/analytics/drivingScore?{limit}" for each in vehicles],
            "trend of 20 days": [f"{prefix}/vehicle/{each}/analytics/trend?{limit}" for each in vehicles],
            "ranking, page 1": [ranking],
            "ranking, page 2": [second],
            "explanation of an hour": [f"{prefix}/trip/{each}/analytics/drivingScore/explanation" for each in trips],
        }
        found = server.get(asked["trend of 20 days"][0])["data"]
        if (
            len(found) != DAYS
            or any(each["percentile"] is None for each in found)
            or len(server.get(second)["data"]) != pages.LIMIT
        ):
            raise RuntimeError("pages are not full")
        if len(server.get(asked["page of scores"][0])["data"]) != pages.LIMIT:
            raise RuntimeError("pages of scores are not full")
        pages_of_days = [f"{prefix}/vehicle/{each}/analytics/trend?limit={LONG}" for each in vehicles]
        if len(server.get(pages_of_days[0])["data"]) != LONG:
            raise RuntimeError("pages of days are not full")
        before = server.cpu_s()
        for each in pages_of_days:
            server.get(each)
        long_ms = 1_000 * (server.cpu_s() - before) / len(pages_of_days)
        scripts = {
            name: pages.script(folder / str(number), addresses, server)
            for number, (name, addresses) in enumerate(asked.items())
        }
        rates: dict[str, list[float]] = {name: [] for name in asked}
        for _ in range(rounds):
            for name, script in scripts.items():
                rates[name].append(pages.load(server, script, 1, connections=surface.CONNECTIONS).per_cpu_s)
    scores = rates.pop("page of scores")
    figures = [of_rounds(row=row, name="page of 20 scores, requests per second of one core", rounds=scores)]
    for name, of_name in rates.items():
        figures.append(
            of_rounds(
                row=row,
                name=f"{name}: x page of scores",
                rounds=[ours / peer for ours, peer in zip(of_name, scores, strict=True)],
                gate=1 if name.startswith("ranking") else 0.5,
                detail={"per_cpu_s": statistics.median(of_name)},
            )
        )
    return [
        *figures,
        of_rounds(row=row, name=f"trend of {LONG:,} days, ms of CPU", rounds=[long_ms], at_least=False),
    ]
