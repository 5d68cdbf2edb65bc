"""The cost of a message in the pipeline, stage by stage: `python -m bench.ingest_micro [--store URL]`.

With an address: on that PostgreSQL database, which is migrated and holds nothing yet.

CPU time of the loop's thread and of the writer's thread, microseconds a message; reading the JSON
(`wire/device/publish.py`) is a column of its own. One sensor after the other, so every message is of another
connection.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select
from tests.support import fleet_rows, stores
from tests.support import ingest_rig as support

from tripline.config import Ingest
from tripline.domain.ids import SensorId, TimeIds
from tripline.services.device_frames import Frame
from tripline.services.ingest import pipeline as ingest_pipeline
from tripline.services.ingest.pipeline import Pipeline
from tripline.services.live.position_keeper import PositionKeeper
from tripline.store import tables
from tripline.store.database.postgres import PostgresStore
from tripline.store.database.sqlite import SqliteStore
from tripline.store.transactions import Crew, Store

SENSORS = 400
SIZES = (1, 20, 200, 2000)
COLUMNS = ("decode", "check", "place", "keep", "acknowledge", "loop", "writer")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default="", help="address of a PostgreSQL database")
    url = parser.parse_args().store
    with tempfile.TemporaryDirectory() as folder:
        print("microseconds a message (CPU); `loop` is everything on the event loop with decode, without offer")
        print(f"{'items':>6}{'batch':>7}" + "".join(f"{name:>13}" for name in COLUMNS))
        for run, (items, size) in enumerate((items, size) for items in (1, 30) for size in SIZES):
            spent = asyncio.run(measure(url, Path(folder) / str(run), run, size, items))
            print(f"{items:>6}{size:>7}" + "".join(f"{spent[name]:>13.2f}" for name in COLUMNS))


def opened(url: str, folder: Path) -> Store:
    """The store: a new file, or the database with this address."""
    if url:
        return PostgresStore(url)
    folder.mkdir()
    return SqliteStore(stores.fresh_file(folder))


async def measure(url: str, folder: Path, run: int, size: int, items: int) -> dict[str, float]:
    """The first decile over batches of one size, by stage: the least disturbed."""
    store = opened(url, folder)
    if not await store.read(lambda tx: tx.all(select(tables.company.c.id))):
        await store.write(support.seed_rows)
    sensors = [
        SensorId(f"00000000-0000-11ef-8000-{number:012x}")
        for number in range(1000 * (run + 1), 1000 * (run + 1) + SENSORS)
    ]
    await store.write(lambda tx: tx.run(insert(tables.sensor), [_sensor(sensor_id) for sensor_id in sensors]))
    settings, ids = Ingest(), TimeIds(node=1, slot=run if url else None)
    signals = support.LocalSignals()
    pipeline = Pipeline(
        store=store.of(Crew.DEVICES),
        settings=settings,
        scoring_grace_s=0,
        late_grace_s=0,
        max_items=1000,
        ids=ids,
        signals=signals,
        positions=PositionKeeper(
            store=store, signals=signals, clock=lambda: time.time_ns() // 1_000_000, gap_ms=30 * 60_000
        ),
    )
    spent: dict[str, list[float]] = defaultdict(list)
    _watch(pipeline, store, spent)
    sources = [support.FakeSource(sensor_id) for sensor_id in sensors]
    now = support.NOW
    batches = max(SENSORS // size, 1) + (10 if size >= 200 else 300)
    sent = 0
    for batch in range(batches):
        frames: list[Frame] = []
        for _ in range(size):
            at = now + sent // SENSORS * 1000 * items
            body = support.microtrip(at) if items == 1 else support.aggregate(at + step * 1000 for step in range(items))
            frames.append(support.frame(sources[sent % SENSORS], body, at + items * 1000, token=1))
            sent += 1
        if batch == SENSORS // size + 1:
            spent.clear()
        started = time.thread_time()
        await pipeline.take_in(frames, now_ms=frames[-1].received_ms)
        spent["loop"].append(time.thread_time() - started)
    await store.close()
    return {name: statistics.quantiles(seconds, n=10)[0] / size * 1e6 for name, seconds in spent.items()}


def _sensor(sensor_id: str) -> dict[str, Any]:
    return fleet_rows.sensor(sensor_id, support.COMPANY, service_type="harbour", vehicle_id=support.VEHICLE)


def _watch(pipeline: Any, store: Any, spent: dict[str, list[float]]) -> None:
    """Wrap the stages with clocks."""

    def timed(name: str, function: Any) -> Any:
        def call(*args: Any) -> Any:
            started = time.thread_time()
            try:
                return function(*args)
            finally:
                spent[name].append(time.thread_time() - started)

        return call

    def awaited(name: str, function: Any) -> Any:
        async def call(*args: Any) -> Any:
            started = time.thread_time()
            try:
                return await function(*args)
            finally:
                spent[name].append(time.thread_time() - started)

        return call

    pipeline._decode = timed("decode", pipeline._decode)
    pipeline._check = awaited("check", pipeline._check)
    pipeline._place = timed("place", pipeline._place)
    pipeline._keep = awaited("keep", pipeline._keep)
    ingest_pipeline.acknowledge = awaited("acknowledge", _ACKNOWLEDGE)
    if isinstance(store, SqliteStore):
        store._writer.work = timed("writer", store._writer.work)  # type: ignore[method-assign]
    else:
        batches = store._crews[Crew.DEVICES].batches
        batches._work = timed("writer", batches._work)


_ACKNOWLEDGE = ingest_pipeline.acknowledge

if __name__ == "__main__":
    sys.exit(main())
