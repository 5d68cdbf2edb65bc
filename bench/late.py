"""Row 22: late and redelivered data beside live data, in trips of 50,000 samples.

The pipeline alone takes batches of twenty devices, each with a trip of 50,000 samples that were stored minutes ago.
Five kinds of batches take turns, one by one: everything in order; an hour of old data of every device beside a tenth of
live data; the newest first from every device; one device that delivers old data beside nineteen in order; every frame
for the second time. The figure is the rate against that of batches in order in the same round. Frames are made before
the clock starts; commits are durable.

Here on SQLite; `late_shared.py` does the same on PostgreSQL. Not here: devices, TLS (`device_channel.py`).
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.device_channel import disk
from bench.ingest_micro import _sensor
from bench.table import Figure, of_rounds
from sqlalchemy import func, insert, select
from tests.support import ingest_rig as support
from tests.support import stores

from tripline.config import Ingest
from tripline.domain.ids import SensorId, TimeIds
from tripline.services.device_frames import Frame
from tripline.services.ingest.pipeline import Pipeline
from tripline.services.live.position_keeper import PositionKeeper
from tripline.store import tables
from tripline.store.database.sqlite import SqliteStore
from tripline.store.transactions import Store

DEVICES: Final = 20
SAMPLES, QUICK_SAMPLES = 50_000, 5_000
"""Of each trip before the first round."""
ROUNDS, QUICK_ROUNDS = 5, 2
BATCHES: Final = 40
"""Of each kind in a round. With 36 of 2,000 frames, twenty devices deliver an hour each."""
LIVE_OF: Final = 10
"""Of the frames of a batch of old data one in so many is live."""
STEP_MS: Final = 1_000
IN_ORDER, OLD, NEWEST_FIRST = "in order", "old data and live data", "newest first"
ONE_OLD, TWICE = "one device with old data", "every frame again"
KINDS: Final = (IN_ORDER, OLD, NEWEST_FIRST, ONE_OLD, TWICE)
GATES: Final = {OLD: 0.6, NEWEST_FIRST: 0.6, ONE_OLD: 0.95, TWICE: 1.0}


@dataclass(slots=True)
class _Device:
    """What a device has sent: its live samples go up, its old ones lie between those of an hour long ago. Newest first,
    they go down from the first of all."""

    source: support.FakeSource
    live_ms: int
    old_ms: int
    first_ms: int
    sent: list[bytes] = field(default_factory=list)

    def live(self) -> bytes:
        self.live_ms += STEP_MS
        body = _BODY % (self.live_ms, self.live_ms)
        self.sent.append(body)
        return body

    def old(self) -> bytes:
        self.old_ms += STEP_MS
        return _BODY % (self.old_ms, self.old_ms)

    def earlier(self) -> bytes:
        self.first_ms -= STEP_MS
        return _BODY % (self.first_ms, self.first_ms)


_BODY: Final = (
    b'{"ty":2,"ts":%d,"pld":{"tid":41,"lat":35.157731,"lon":129.059114,"alt":12.4,"sp":38,"dop":1.1,"nos":9,"tdis":14,'
    b'"clt":%d}}'
)


def measure(quick: bool) -> list[Figure]:
    """On SQLite."""
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        store = SqliteStore(stores.fresh_file(Path(folder)))
        return asyncio.run(measured(store, "SQLite", quick))


async def measured(store: Store, name: str, quick: bool) -> list[Figure]:
    """The rates on a store without rows, which is closed at the end."""
    try:
        rounds, kept = await _Run(store, QUICK_SAMPLES if quick else SAMPLES).all(QUICK_ROUNDS if quick else ROUNDS)
    finally:
        await store.close()
    row = f"22 late data, trips of {(QUICK_SAMPLES if quick else SAMPLES):,} samples, {name}"
    in_order = [rates[IN_ORDER] for rates in rounds]
    figures = [
        of_rounds(row=row, name="in order, messages/s", rounds=in_order, detail={"rounds": rounds, "stored": kept})
    ]
    for kind in KINDS[1:]:
        ratios = [rates[kind] / rates[IN_ORDER] for rates in rounds]
        figures.append(of_rounds(row=row, name=f"{kind}: x in order", rounds=ratios, gate=GATES[kind]))
    return figures


class _Run:
    """A pipeline over a store and the devices that send to it."""

    def __init__(self, store: Store, samples: int) -> None:
        self._store = store
        self._samples = samples
        settings = Ingest()
        self._batch = settings.batch
        ids = TimeIds(node=1, slot=1 if store.shared else None)
        signals = support.LocalSignals()
        self._pipeline = Pipeline(
            store=store,
            settings=settings,
            scoring_grace_s=0,
            late_grace_s=0,
            max_items=1000,
            ids=ids,
            signals=signals,
            positions=PositionKeeper(store=store, signals=signals, clock=_now_ms, gap_ms=30 * 60_000),
        )
        # Live samples run ahead of the clock in this load: they begin days ago.
        begin_ms = _now_ms() // STEP_MS * STEP_MS - 30 * 86_400_000
        sensors = [SensorId(f"00000000-0000-11ef-8000-{number:012x}") for number in range(1000, 1000 + DEVICES)]
        self._devices = [
            _Device(support.FakeSource(each), begin_ms, begin_ms + STEP_MS // 2, begin_ms) for each in sensors
        ]
        self._new = 0
        self._chance = random.Random(1)

    async def all(self, rounds: int) -> tuple[list[dict[str, float]], int]:
        """Messages a second of each kind, round by round; how many are stored."""
        await self._store.write(support.seed_rows)
        rows = [_sensor(device.source.sensor_id) for device in self._devices]
        await self._store.write(lambda tx: tx.run(insert(tables.sensor), rows))
        for _ in range(DEVICES * self._samples // self._batch):
            await self._take_in(self._frames(IN_ORDER, 0))
        found = [await self._round() for _ in range(rounds)]
        count = select(func.count()).select_from(tables.microtrip)
        kept = int((await self._store.read(lambda tx: tx.all(count)))[0][0])
        if kept != self._new:
            raise RuntimeError(f"{self._new} messages were new, {kept} are stored")
        return found, kept

    async def _round(self) -> dict[str, float]:
        """Kinds take turns batch by batch, so what disturbs the machine disturbs all of them; in a new order each time,
        for a batch pays for what the one before left to write."""
        spent = dict.fromkeys(KINDS, 0.0)
        for number in range(BATCHES):
            for kind in self._chance.sample(KINDS, len(KINDS)):
                frames = self._frames(kind, number)
                started = time.perf_counter()
                await self._take_in(frames)
                spent[kind] += time.perf_counter() - started
        return {kind: BATCHES * self._batch / seconds for kind, seconds in spent.items()}

    async def _take_in(self, frames: Sequence[Frame]) -> None:
        await self._pipeline.take_in(frames, now_ms=_now_ms())

    def _frames(self, kind: str, number: int) -> list[Frame]:
        """A batch in which the devices take turns."""
        bodies = self._bodies(kind, number)
        now_ms = _now_ms()
        self._new += 0 if kind == TWICE else self._batch
        return [
            Frame(device.source, support.TOPIC, next(bodies), now_ms, token=1)
            for device in (self._devices[place % DEVICES] for place in range(self._batch))
        ]

    def _bodies(self, kind: str, number: int) -> Iterator[bytes]:
        each = self._batch // DEVICES
        for place in range(self._batch):
            device = self._devices[place % DEVICES]
            if kind == TWICE:
                # From the beginning of the trip on, a stretch a batch.
                yield device.sent[number * each + place // DEVICES]
            elif kind == NEWEST_FIRST:
                yield device.earlier()
            elif (kind == OLD and place // DEVICES % LIVE_OF) or (kind == ONE_OLD and place % DEVICES == 0):
                yield device.old()
            else:
                yield device.live()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
