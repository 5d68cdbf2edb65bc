"""Row 25: trips scored from stored rows to stored rows, and explained, on SQLite with durable commits.

**A trip of an hour**: 3,600 samples of a real drive, one a second, in 120 messages of thirty. The time runs from the
moment the scorer looks for work to the commit of score, events, quality, accumulated score and trends.

**Its explanation**: CPU time from the rows to the answer's JSON, as the server answers it, without HTTP. It has to be
as fast as a page of scores has to be (row 7), 2,500 a second.

**Scoring anew**: the real drives over and over, some tens for each vehicle, as `tripline rescore` does it: read,
decoded, judged, written. In turn by the same policy, so that every score stays, and by the other one of policies 1 and
2, so that scores and events are written anew. The figure is the distance that was scored for an hour of CPU time, all
threads together.

Not here: the kernel alone (`kernel.py`), trips that devices send (`trips.py`).
"""

import asyncio
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from bench.device_channel import disk
from bench.table import Figure, of_rounds
from numpy.typing import NDArray
from sqlalchemy import Table
from tests.support import scoring_rows, stores
from tests.support.scoring_rows import Rig

import tripline.simulator
from tripline import observe
from tripline.api import explanations
from tripline.domain import samples
from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, UserId
from tripline.services.scores import reads, rescore
from tripline.store import tables
from tripline.store.database.sqlite import SqliteStore
from tripline.store.scores import policies
from tripline.store.scores.rescore import Choice
from tripline.store.transactions import WriteTx

DRIVES: Final = Path(tripline.simulator.__file__).parent / "drives"
HOUR: Final = 3_600
TOGETHER: Final = 30
"""Samples in a message."""
HOURS, QUICK_HOURS = 40, 5
TRIPS, QUICK_TRIPS = 1_200, 120
OF_VEHICLE: Final = 40
"""Trips of one vehicle: its accumulated score reads all of them."""
ROUNDS, QUICK_ROUNDS = 5, 2
ROW: Final = "25 trips scored, SQLite"
ASKING: Final = Actor(UserId(scoring_rows.DRIVER), Authority.COMPANY_ADMIN, CompanyId(scoring_rows.COMPANY))
EVERYTHING: Final = Choice(everything=True)
Rows = NDArray[np.float64]
"""A drive: epoch ms, latitude, longitude, km/h in each row."""


def measure(quick: bool) -> list[Figure]:
    """Both, and no line of the log for each batch."""
    observe.configure_logging(level="warning", as_json=False)
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        return asyncio.run(_measured(Path(folder), quick))


async def _measured(folder: Path, quick: bool) -> list[Figure]:
    (folder / "hours").mkdir()
    (folder / "anew").mkdir()
    return [
        *await _hours(_rig(folder / "hours"), QUICK_HOURS if quick else HOURS),
        *await _anew(_rig(folder / "anew"), QUICK_TRIPS if quick else TRIPS, QUICK_ROUNDS if quick else ROUNDS),
    ]


def _rig(folder: Path) -> Rig:
    return Rig(folder, store=SqliteStore(stores.fresh_file(folder)))


async def _hours(rig: Rig, count: int) -> list[Figure]:
    longest = recording(DRIVES / "drive_31.csv")
    rows = longest[np.arange(HOUR) % len(longest)]
    try:
        await rig.add_vehicle()
        spent, cpu = [], []
        for number in range(1 + count):
            await rig.add_trip(messages(rows, number))
            begin, cpu_begin = time.perf_counter(), time.process_time()
            await rig.scorer.score_due()
            spent.append((time.perf_counter() - begin) * 1_000)
            cpu.append((time.process_time() - cpu_begin) * 1_000)
        scores, events = await _count(rig, tables.driving_score), await _count(rig, tables.gps_event)
        if scores != len(spent):
            raise RuntimeError(f"{len(spent)} trips were driven, {scores} have a score")
        explained = [await _explained(rig, row[0]) for row in await rig.rows(tables.trip, "id")]
    finally:
        await rig.store.close()
    first, *others = spent  # it loads the kernel and writes the first policies
    detail = {"samples": HOUR, "messages": HOUR // TOGETHER, "GPS events of a trip": events / len(spent)}
    return [
        of_rounds(
            row=ROW,
            name="an hour at 1 Hz scored and written, ms",
            rounds=others,
            gate=20,
            at_least=False,
            detail=detail | {"the first, ms": first, "ms": others},
        ),
        of_rounds(row=ROW, name="of it CPU, ms", rounds=cpu[1:]),
        of_rounds(row=ROW, name="its explanation, ms of CPU", rounds=explained[1:], gate=0.4, at_least=False),
    ]


async def _explained(rig: Rig, trip_id: str) -> float:
    begin = time.process_time()
    facts = await rig.store.read_short(partial(reads.to_explain_at_once, actor=ASKING, of=trip_id))
    if facts is None:
        raise RuntimeError(f"too much to explain at once: {trip_id}")
    answer = msgspec.json.encode(explanations.explained(trip_id, facts, scoring_rows.ZONE))
    spent_ms = (time.process_time() - begin) * 1_000
    if b'"score":null' in answer:
        raise RuntimeError(f"not explained: {answer!r}")
    return spent_ms


async def _anew(rig: Rig, count: int, rounds: int) -> list[Figure]:
    drives = [recording(file) for file in sorted(DRIVES.glob("*.csv"))]
    vehicles = [f"{number:08d}-0000-11b2-8080-808080808080" for number in range(-(-count // OF_VEHICLE))]
    found: dict[str, list[float]] = {"the same policy": [], "another policy": []}
    try:
        for vehicle_id in vehicles:
            await rig.add_vehicle(vehicle_id)
        for number in range(count):
            packed = messages(drives[number % len(drives)], number // len(vehicles))
            await rig.add_trip(packed, vehicle_id=vehicles[number % len(vehicles)])
        await rig.drain()
        metres = sum(row[0] for row in await rig.rows(tables.vehicle_score, "distance_m"))
        for turn in range(rounds):
            found["the same policy"].append(await _rate(rig, metres, moved=False))
            await rig.write(partial(_choose, no=2 - turn % 2))
            found["another policy"].append(await _rate(rig, metres, moved=True))
    finally:
        await rig.store.close()
    detail = {"trips": count, "vehicles": len(vehicles), "scored km": metres / 1_000}
    return [
        of_rounds(row=ROW, name=f"scored anew by {name}, M km/h of CPU", rounds=rates, gate=5, detail=detail)
        for name, rates in found.items()
    ]


async def _rate(rig: Rig, metres: float, *, moved: bool) -> float:
    """Millions of kilometres for an hour of CPU time; whether scores move has to be as said."""
    begin = time.process_time()
    outcome = await rescore.rescored(
        rig.store, rig.scorer, EVERYTHING, clock=lambda: rig.now_ms, progress=lambda _: None
    )
    spent_s = time.process_time() - begin
    if outcome.failed or (outcome.moved > 0) != moved:
        raise RuntimeError(f"not what was to be measured: {outcome}")
    return metres / 1_000 / (spent_s / 3_600) / 1e6


def _choose(tx: WriteTx, no: int) -> None:
    policies.choose(tx, policies.Kind.COMPANY, scoring_rows.COMPANY, no, from_ms=0, now_ms=0)


def recording(file: Path) -> Rows:
    """The rows of a recorded drive."""
    return np.genfromtxt(file, delimiter=",", skip_header=1, usecols=(0, 1, 2, 3))


def messages(rows: Rows, day: int) -> list[bytes]:
    """The drive's packed samples, driven on that day, some tens in each message; one a second where it is repeated."""
    times = rows[:, 0] - rows[0, 0]
    if (np.diff(times) < 0).any():
        times = np.arange(len(rows)) * 1_000
    begin_ms = scoring_rows.START_MS + day * 86_400_000
    packed = [
        samples.RECORD.pack(begin_ms + int(at), *row, samples.NO_FLAGS, samples.FLAG_OWN_TIME)
        for at, row in zip(times.tolist(), rows[:, 1:].tolist(), strict=True)
    ]
    return [b"".join(packed[first : first + TOGETHER]) for first in range(0, len(packed), TOGETHER)]


async def _count(rig: Rig, table: Table) -> int:
    return len(await rig.rows(table, table.primary_key.columns.keys()[0]))
