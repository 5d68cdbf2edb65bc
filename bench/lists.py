"""Pages and counts of every list, in each order, from each looker, with each filter, one statement after another.

python -m bench.lists sqlite|postgresql [ROUNDS [PART OF A NAME]]

Each page is read once, then in as many rounds. A figure is the median and the slowest: on SQLite processor time of the
thread, on PostgreSQL what one waits, and processor time of PostgreSQL's process beside it. Not here: the same pages
through the portal (`portal.py`).
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import shared
from bench.device_channel import disk
from tests.support import large_lists

from tripline.store import migrate
from tripline.store.database import postgres, sqlite
from tripline.store.database.postgres_statements import PostgresTx
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.transactions import ReadTx, WriteTx

COUNT = 100_000
LIMIT = 50


def cases() -> Iterator[tuple[str, Callable[[ReadTx], Any]]]:
    """Every page and count, with its name."""
    for each in large_lists.asked(COUNT):
        what = f"{each.name}, {each.looker}, {each.filters}"
        for by, deep in each.orders.items():
            for place in (None, Place(deep, "m")):
                for descending in (False, True):
                    turn = PageRequest(limit=LIMIT, by=by, descending=descending, place=place)
                    name = f"{by}{' falling' if descending else ''}{', deep' if place else ''}"
                    yield f"{what}, {name}", lambda tx, each=each, turn=turn: each.page(tx, turn)
        yield f"{what}, count", each.count


def measure(tx: ReadTx, rounds: int, part: str, clocks: dict[str, Callable[[], float]]) -> None:
    """Print a row for each page or count: median and slowest by each clock, in ms; then those of all."""
    took: dict[str, dict[str, list[float]]] = {}
    print(f"load {os.getloadavg()[0]:.1f}; median and slowest: {', '.join(clocks)}")
    for name, read in cases():
        if part not in name:
            continue
        took[name] = {clock: [] for clock in clocks}
        for number in range(rounds + 1):
            began = {clock: now() for clock, now in clocks.items()}
            read(tx)
            for clock, now in clocks.items() if number else ():
                took[name][clock].append((now() - began[clock]) * 1_000)
        figures = (f"{statistics.median(each):8.2f} {max(each):8.2f}" for each in took[name].values())
        print(f"{' |'.join(figures)} | {name}", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")
    for kind in ("pages", "counts"):
        of_kind = [of for name, of in took.items() if name.endswith("count") is (kind == "counts")]
        for clock in clocks if of_kind else ():
            medians = sorted(statistics.median(of[clock]) for of in of_kind)
            print(
                f"{len(medians)} {kind}, {clock}: median of the medians {statistics.median(medians):.2f},"
                f" mean {statistics.mean(medians):.2f}, p99 {medians[int(len(medians) * 0.99)]:.2f},"
                f" slowest {medians[-1]:.2f}, slowest round {max(max(of[clock]) for of in of_kind):.2f} ms"
            )


@contextmanager
def on_sqlite() -> Iterator[WriteTx]:
    """A transaction on an empty file."""
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        path = Path(folder) / "tripline.db"
        migrate.upgrade(path)
        with sqlite.open_engine(path).connect() as connection:
            yield WriteTx(connection)


@contextmanager
def on_postgresql() -> Iterator[WriteTx]:
    """A transaction on an empty database."""
    with shared.database(durable=False) as database:
        url = database.url(shared.DATABASE)
        migrate.upgrade_shared(url, now_ms=int(time.time() * 1000))
        with postgres.open_engine(url).connect() as connection:
            yield PostgresTx(connection)


def cpu_s(tx: ReadTx) -> Callable[[], float]:
    """Return the clock of processor time of the transaction's process of PostgreSQL."""
    process = Path(f"/proc/{tx.connection.exec_driver_sql('SELECT pg_backend_pid()').scalar_one()}/schedstat")
    return lambda: int(process.read_text().split()[0]) / 1e9


@contextmanager
def filled(store: str, *works: Callable[[WriteTx], None]) -> Iterator[WriteTx]:
    """A transaction on the rows that these works make, each in a transaction of its own."""
    with on_sqlite() if store == "sqlite" else on_postgresql() as tx:
        for work in works:
            _begin(tx)
            work(tx)
            tx.run_sql("COMMIT", ())
        if tx.shared:
            tx.run_sql("VACUUM ANALYZE", ())
        _begin(tx)
        yield tx


def _begin(tx: WriteTx) -> None:
    tx.run_sql("BEGIN", ())
    if tx.shared:
        tx.run_sql("SET LOCAL idle_in_transaction_session_timeout = 0", ())


def main() -> None:
    """Make the rows, then measure."""
    store, rounds, part = (*sys.argv[1:], "9", "")[:3] if len(sys.argv) < 3 else (*sys.argv[1:], "")[:3]
    with filled(store, lambda tx: large_lists.fill(tx, COUNT)) as tx:
        clocks = {"processor time": time.thread_time}
        if tx.shared:
            clocks = {"wall": time.perf_counter, "PostgreSQL's processor time": cpu_s(tx)}
        measure(tx, int(rounds), part, clocks)


if __name__ == "__main__":
    main()
