"""Rows that a closed trip leaves behind, made by hand, and a scorer over them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from sqlalchemy import insert, select

from tests.support import fleet_rows, reaching, stores
from tripline.domain import samples
from tripline.domain.ids import TimeIds, no_of
from tripline.ports.maps import RoadMatcher
from tripline.scoring.rules import Rules, Scoring
from tripline.services.scores.scorer import Scorer
from tripline.store import tables
from tripline.store.bulk import Bulk
from tripline.store.scores.scores import Job, Task
from tripline.store.transactions import ReadTx, Store, WriteTx

T = TypeVar("T")

ZONE = ZoneInfo("Asia/Seoul")
NOW_MS = 1_735_693_200_000
START_MS = 1_735_689_600_000
COMPANY = "11111111-0000-11b2-8080-808080808080"
VEHICLE = "22222222-0000-11b2-8080-808080808080"
DRIVER = "33333333-0000-11b2-8080-808080808080"
_MICROTRIPS = Bulk(tables.microtrip, "no", "id", "trip_no", "ty", "payload", "samples")


class Hints:
    """Signals inside one process, delivered at once."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Callable[[str], None]]] = {}

    def notify(self, subject: str, detail: str = "") -> None:
        for listener in self._listeners.get(subject, []):
            listener(detail)

    def subscribe(self, subject: str, listener: Callable[[str], None]) -> None:
        self._listeners.setdefault(subject, []).append(listener)


class Rig:
    """An empty store with one vehicle, its clock, and a scorer."""

    def __init__(
        self,
        folder: Path,
        *,
        readers: int = 1,
        store: Store | None = None,
        slot: int | None = None,
        roads: RoadMatcher | None = None,
        **scoring: Any,
    ) -> None:
        self.store = store or stores.fresh(folder).open(readers=readers)
        self.now_ms = NOW_MS
        self.ids = TimeIds(node=7, slot=slot)
        self.hints = Hints()
        self.scorer = Scorer(
            store=self.store,
            rules=Rules(scoring=Scoring(**scoring)),
            ids=self.ids,
            signals=self.hints,
            clock=lambda: self.now_ms,
            zone=ZONE,
            roads=roads,
        )

    async def write(self, work: Callable[[WriteTx], T]) -> T:
        return await self.store.write(work)

    async def rows(self, table: Any, *columns: str) -> list[tuple[Any, ...]]:
        """The named columns of every row, in order of the first key column."""

        def read(tx: ReadTx) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in tx.all(stores.ordered(table, columns))]

        return await self.store.read(read)

    async def add_vehicle(self, vehicle_id: str = VEHICLE, category: str | None = None) -> None:
        def add(tx: WriteTx) -> None:
            if not tx.all(select(tables.company.c.id)):
                tx.run(
                    insert(tables.company),
                    {
                        "id": COMPANY,
                        "created_ms": 0,
                        "name": "c",
                        "service_type": "s",
                        "master": True,
                        "master_id": COMPANY,
                        "token_prefix": "AAAAA",
                    },
                )
            reaching.run(
                tx,
                insert(tables.vehicle),
                fleet_rows.vehicle(vehicle_id, COMPANY, service_type="s", vehicle_no=vehicle_id[:8], category=category),
            )

        await self.write(add)

    async def add_driver(self, user_id: str) -> None:
        """A driver of the company of the vehicles."""
        row = {"company_id": COMPANY, "authority": "DRIVER", "name": "d", "email": user_id, "login": user_id}
        row |= {"password_hash": "", "password_updated_ms": 0, "created_ms": 0, "enabled": True}
        await self.write(lambda tx: tx.run(insert(tables.account), {"id": user_id, **row}))

    async def add_trip(
        self,
        packed: Iterable[bytes],
        *,
        vehicle_id: str | None = VEHICLE,
        sensor_id: str | None = COMPANY,
        device_type: str = "GPS",
        parking: bool = False,
        distance_m: float | None = None,
        due_ms: int = 0,
    ) -> int:
        """A closed trip whose microtrips carry these packed samples, and its job; the trip's row number."""
        trip_id = self.ids.next(now_ms=START_MS)
        trip_no = no_of(trip_id)

        def add(tx: WriteTx) -> None:
            tx.run(
                insert(tables.trip),
                {
                    "no": trip_no,
                    "id": trip_id,
                    "created_ms": START_MS,
                    "company_id": COMPANY,
                    "sensor_id": sensor_id,
                    "vehicle_id": vehicle_id,
                    "user_id": DRIVER,
                    "service_type": "s",
                    "device_type": device_type,
                    "parking": parking,
                    "state": "COMPLETE",
                    "distance_m": distance_m,
                },
            )
            add_microtrips(tx, self.ids, trip_no, packed)
            tx.run(insert(tables.scoring_job), {"trip_no": trip_no, "due_ms": due_ms})

        await self.write(add)
        return trip_no

    async def ask_again(self, trip_no: int, due_ms: int = 0) -> None:
        """A new job for the trip."""
        await self.write(lambda tx: tx.run(insert(tables.scoring_job), {"trip_no": trip_no, "due_ms": due_ms}))

    async def drain(self) -> int:
        """Score until nothing is due; how many jobs were handled."""
        handled = 0
        while count := await self.scorer.score_due():
            handled += count
        return handled


def add_microtrip(tx: WriteTx, ids: TimeIds, trip_no: int, packed: bytes) -> None:
    """One microtrip of a trip."""
    add_microtrips(tx, ids, trip_no, [packed])


def add_microtrips(tx: WriteTx, ids: TimeIds, trip_no: int, packed: Iterable[bytes]) -> None:
    """A microtrip of the trip for each of these packed samples."""
    values: list[Any] = []
    for part in packed:
        microtrip_id = ids.next(now_ms=START_MS)
        values += (no_of(microtrip_id), microtrip_id, trip_no, 2, b"{}", part)
    _MICROTRIPS.insert(tx, values)


def sample(
    second: float,
    speed_kmh: float,
    *,
    lat: float = 36.0,
    lon: float = 127.0,
    em: int = samples.NO_FLAGS,
    flags: int = samples.FLAG_OWN_TIME,
) -> bytes:
    """One packed sample."""
    return samples.RECORD.pack(START_MS + round(second * 1_000), lat, lon, speed_kmh, em, flags)


def drive(*speed_kmh: float) -> list[bytes]:
    """One sample a second, one microtrip each."""
    return [sample(second, speed) for second, speed in enumerate(speed_kmh)]


def task_of(packed: Iterable[bytes], **changes: Any) -> Task:
    """A job of no store, with these samples."""
    job = Job(1, 0, 0, "t", "v", None, "GPS", False, 10_000.0, None, None, None, 1, 1, None, 0, "c", 0)
    return Task(job._replace(**changes), b"".join(packed))


@asynccontextmanager
async def opened(folder: Path, **scoring: Any) -> AsyncIterator[Rig]:
    """A fresh rig with a vehicle."""
    rig = Rig(folder, **scoring)
    try:
        await rig.add_vehicle()
        yield rig
    finally:
        await rig.store.close()


def played(folder: Path, play: Callable[[Rig], Any], **scoring: Any) -> Any:
    """What the play on a fresh rig returns."""

    async def run() -> Any:
        async with opened(folder, **scoring) as rig:
            return await play(rig)

    return asyncio.run(run())
