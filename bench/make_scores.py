"""Makes `bench/data/scores.db`: a store with ten million scores of 400 vehicles, for the page measurement.

    python -m bench.make_scores [ROWS]

Rows of different vehicles alternate, as trips end all over a fleet, so that a page's rows lie far apart in the file.
Secondary indexes are built after the rows, as sorted input.
"""

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Index, insert
from sqlalchemy.schema import CreateIndex
from tests.support import fleet_rows, reaching

from tripline.domain import ids
from tripline.domain.access import Authority
from tripline.store.database import sqlite
from tripline.store.tables import account, company, driving_score, metadata, vehicle

DATA = Path(__file__).parent / "data"
FILE = DATA / "scores.db"
ROWS = 10_000_000
VEHICLES = 400
FIRST_MS = 1_600_000_000_000
STEP_MS = 10_000
BATCH = 50_000
FILLED = (
    *("trip_no", "trip_id", "created_ms", "vehicle_id", "user_id", "score"),
    *("accel", "de_accel", "over_speed", "over_speed_s", "distance_m"),
    *("company_id", "day", "driving_ms", "known_m", "policy"),
)
VALUES = ", ".join("?" * len(FILLED))
MAKER = ids.TimeIds(node=0xBEC4)
COMPANY_ID, ADMIN_ID = (MAKER.text(ids.first_no(FIRST_MS - 1_000) + n) for n in range(2))


def vehicle_id(number: int) -> str:
    """The id of one of the vehicles."""
    return MAKER.text(ids.first_no(FIRST_MS - 500) + number)


def score_id(number: int, *, before: int) -> str:
    """The id of the last score of the vehicle's first `before` scores, newest first."""
    return _trip_id((ROWS // VEHICLES - before) * VEHICLES + number)


def _trip_id(row: int) -> str:
    return MAKER.text(ids.first_no(_created_ms(row) - 600_000))


def _created_ms(row: int) -> int:
    return FIRST_MS + row * STEP_MS


def make(rows: int = ROWS) -> Path:
    """The database file; made when it does not exist or has another number of rows."""
    if FILE.exists() and _rows(FILE) == rows:
        return FILE
    DATA.mkdir(exist_ok=True)
    part = FILE.with_suffix(".part")
    part.unlink(missing_ok=True)
    engine = sqlite.open_engine(part)
    indexes: list[Index] = sorted(driving_score.indexes, key=lambda index: str(index.name))
    metadata.create_all(engine)
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.execute("PRAGMA synchronous=OFF")
        for index in indexes:
            driver.execute(f"DROP INDEX {index.name}")
        driver.execute("BEGIN")
        _add_fleet(connection)
        for batch in _batches(rows):
            driver.executemany(f"INSERT INTO driving_score ({', '.join(FILLED)}) VALUES ({VALUES})", batch)
        for index in indexes:
            driver.execute(str(CreateIndex(index).compile(engine)))
        driver.execute("COMMIT")
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    driver.close()
    part.rename(FILE)
    return FILE


def _rows(path: Path) -> int:
    """How many scores the file has, 0 where they lack columns; it gets the tables that were added since it was made."""
    engine = sqlite.open_engine(path)
    metadata.create_all(engine)
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        columns = {name for _, name, *_ in driver.execute("PRAGMA table_info(driving_score)")}
        if columns != set(driving_score.c.keys()):
            driver.close()
            return 0
        (count,) = driver.execute("SELECT count(*) FROM driving_score").fetchone()
    driver.close()
    return int(count)


def _add_fleet(connection: Any) -> None:
    connection.execute(
        insert(company),
        {
            "id": COMPANY_ID,
            "created_ms": FIRST_MS,
            "name": "bench",
            "service_type": "bench",
            "master": True,
            "master_id": COMPANY_ID,
            "token_prefix": "BENCH",
        },
    )
    connection.execute(
        insert(account),
        {
            "id": ADMIN_ID,
            "created_ms": FIRST_MS,
            "company_id": COMPANY_ID,
            "authority": Authority.COMPANY_ADMIN.value,
            "name": "bench",
            "email": "bench@bench.example",
            "login": "bench@bench.example",
            "password_hash": "",
            "password_updated_ms": FIRST_MS,
            "enabled": True,
        },
    )
    connection.execute(
        insert(vehicle),
        [
            fleet_rows.vehicle(
                vehicle_id(number),
                COMPANY_ID,
                created_ms=FIRST_MS,
                service_type="bench",
                vehicle_no=f"{number:03d}",
            )
            for number in range(VEHICLES)
        ],
    )
    reaching.recount_on(connection)


def _batches(rows: int) -> Iterator[list[tuple[Any, ...]]]:
    rng = random.Random(7)
    vehicles = [vehicle_id(number) for number in range(VEHICLES)]
    started = time.monotonic()
    for start in range(0, rows, BATCH):
        batch = []
        for number in range(start, min(start + BATCH, rows)):
            created_ms, trip_id = _created_ms(number), _trip_id(number)
            no = ids.no_of(trip_id)
            score, events = 100 * rng.random(), number % 7
            batch.append(
                (
                    *(no, trip_id, created_ms, vehicles[number % VEHICLES], ADMIN_ID, score),
                    *(events, events // 2, events * 3, events * 3.0, 3_000.0 + number % 60_000),
                    *(COMPANY_ID, created_ms // 86_400_000, 600_000, 2_000, 1),
                )
            )
        yield batch
        print(f"{start + len(batch):,} rows, {time.monotonic() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    print(make(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
