"""Row 33: the overview of scores and pages of rankings, on ten million trips of 200,000 vehicles, one company's every
second.

python -m bench.score_pages sqlite|postgresql [TRIPS OF EACH VEHICLE [ROUNDS]]

As `bench/trip_lists.py`, whose rows it adds sums to. A figure is what one waits, as in a request: of the overview from
each looker, of a ranking the first page, one in the middle and the last, by day, week and month. Each is read once
before. Not here: the same ranking over HTTP (`trends.py`).
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final
from zoneinfo import ZoneInfo

from bench import lists
from sqlalchemy import Index
from sqlalchemy.schema import CreateIndex
from tests.support import large_lists, large_trips
from tests.support.large_lists import BIG, LOOKERS

from tripline.domain import trends
from tripline.domain.access import Actor, Authority
from tripline.domain.trends import Period, Subject
from tripline.services.scores import attention
from tripline.services.scores import trends as service
from tripline.store.tables import driving_score, score_rank, score_sum, trip
from tripline.store.transactions import ReadTx, WriteTx

VEHICLES: Final = 200_000
EACH: Final = 50
RANKED: Final = 21
ZONE: Final = ZoneInfo("Asia/Seoul")
GATE_MS: Final = 100
NOW_MS: Final = large_trips.END_MS - 3_600_000


def fill(tx: WriteTx, each: int) -> None:
    """Write the rows; on SQLite the indexes of the largest tables behind them, as sorted input."""
    indexes: list[Index] = []
    if not tx.shared:
        of_tables = (trip, driving_score, score_sum, score_rank)
        indexes = sorted((index for table in of_tables for index in table.indexes), key=lambda index: str(index.name))
    for index in indexes:
        tx.run_sql(f"DROP INDEX {index.name}", ())
    for work in (
        lambda: large_lists.fill(tx, VEHICLES),
        lambda: large_trips.fill(tx, VEHICLES, each),
        lambda: large_trips.sums(tx),
    ):
        began = time.monotonic()
        work()
        print(f"made in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    for index in indexes:
        tx.run_sql(str(CreateIndex(index).compile(tx.connection)), ())


def cases(tx: ReadTx) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every page, with its name."""
    for looker, (authority, user_id, company_id) in LOOKERS.items():
        if authority is not Authority.DRIVER:
            actor = Actor(user_id, authority, company_id)
            yield f"overview, {looker}", lambda actor=actor: attention.read(tx, actor=actor, now_ms=NOW_MS, zone=ZONE)
    day = trends.day_of(NOW_MS, ZONE) - 1
    for kind in (Subject.VEHICLE, Subject.DRIVER):
        for period in Period:
            for place, after in _places(tx, kind, period, day).items():
                yield (
                    f"ranking, {kind.value}s, {period.value}, {place}",
                    lambda kind=kind, period=period, after=after: service.ranking(
                        tx, kind, BIG, period, day=day, after=after, limit=RANKED
                    ),
                )


def _places(tx: ReadTx, kind: Subject, period: Period, day: int) -> dict[str, str | None]:
    """Members behind which a page begins."""
    first = trends.first_day(day, period)
    ordered = (
        f"SELECT subject FROM score_rank WHERE kind = '{kind.value}' AND period = '{period.value}' AND day = {first}"
        f" AND company_id = '{BIG}' ORDER BY badness, subject"
    )
    subjects = [row[0] for row in tx.connection.exec_driver_sql(ordered)]
    return {
        f"first of {len(subjects):,}": None,
        "middle": subjects[len(subjects) // 2],
        "last": subjects[-RANKED - 1],
    }


def measure(tx: ReadTx, rounds: int) -> None:
    """Print median and slowest of each page, in ms."""
    print(f"load {os.getloadavg()[0]:.1f}; ms: median and slowest of {rounds}, and processor time of this thread")
    slowest = 0.0
    for name, read in cases(tx):
        took, used = [], []
        for number in range(rounds + 1):
            began, thread = time.perf_counter(), time.thread_time()
            read()
            if number:
                took.append((time.perf_counter() - began) * 1_000)
                used.append((time.thread_time() - thread) * 1_000)
        slowest = max(slowest, statistics.median(took))
        print(f"{statistics.median(took):8.2f} {max(took):8.2f} {statistics.median(used):8.2f} | {name}", flush=True)
    print(f"slowest median {slowest:.2f} ms, gate {GATE_MS} ms; load {os.getloadavg()[0]:.1f}")


def main() -> None:
    """Make the rows, then measure."""
    store, each, rounds = (*sys.argv[1:], *("sqlite", str(EACH), "9")[len(sys.argv) - 1 :])[:3]
    with lists.filled(store, lambda tx: fill(tx, int(each))) as tx:
        measure(tx, int(rounds))


if __name__ == "__main__":
    main()
