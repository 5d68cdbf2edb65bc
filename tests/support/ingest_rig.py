"""A pipeline over a fresh store with one company, vehicle, driver and sensor; tests move its clock by hand."""

import asyncio
import json
import tempfile
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Table, Update, bindparam, insert, update

from tests.support import fleet_rows, reaching, stores
from tripline import observe
from tripline.config import Ingest
from tripline.domain.history import Event, Fact
from tripline.domain.ids import SensorId, TimeIds
from tripline.ports.outages import Outage
from tripline.services.device_frames import Answered, Frame
from tripline.services.ingest.intake import Intake
from tripline.services.ingest.pipeline import Pipeline
from tripline.services.live.position_keeper import PositionKeeper
from tripline.store import tables
from tripline.store.fleet import history
from tripline.store.transactions import Store
from tripline.wire.readings import RpcAnswer

TOPIC = "v1/sensors/me/tre"
NOW = 1_735_689_600_000
"""2025-01-01T00:00:00Z, the first sample of most tests."""
MINUTE = 60_000
COMPANY = "00000000-0000-11ef-8000-000000000001"
DRIVER = "00000000-0000-11ef-8000-000000000002"
VEHICLE = "00000000-0000-11ef-8000-000000000003"
SENSOR = SensorId("00000000-0000-11ef-8000-000000000004")
UNMAPPED = SensorId("00000000-0000-11ef-8000-000000000005")
OTHER_VEHICLE = "00000000-0000-11ef-8000-000000000006"
_SEEDED: dict[bool, stores.Content] = {}
"""Whether on PostgreSQL -> the content."""


@dataclass(eq=False)
class FakeSource:
    """A connection that notes what it is told."""

    sensor_id: SensorId = SENSOR
    settlements: list[list[int]] = field(default_factory=list)
    abandonments: int = 0

    def settled(self, tokens: list[int]) -> None:
        self.settlements.append(tokens)

    def abandoned(self) -> None:
        self.abandonments += 1


class LocalSignals:
    """Delivers on the event loop's next turn, as the program's own do, and at once where no loop runs."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self._listeners: dict[str, list[Any]] = {}

    def notify(self, subject: str, detail: str = "") -> None:
        self.told.append((subject, detail))
        for listener in self._listeners.get(subject, []):
            try:
                asyncio.get_running_loop().call_soon(listener, detail)
            except RuntimeError:
                listener(detail)

    def subscribe(self, subject: str, listener: Any) -> None:
        self._listeners.setdefault(subject, []).append(listener)


class BrokenStore:
    """A store that can be taken away."""

    away = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self.read, self.read_short, self.close = store.read, store.read_short, store.close
        self.alone, self.ask = store.alone, store.ask
        self.troubles = store.troubles

    async def write(self, work: Any, *, locked: bool = False) -> Any:
        if self.away:
            raise Outage("taken away by the test")
        return await self._store.write(work, locked=locked)

    @property
    def shared(self) -> bool:
        return self._store.shared

    @property
    def foreign_commits(self) -> int:
        return self._store.foreign_commits


def seeded() -> stores.Content:
    """A database with the rows that registration would have made; made once a process for each store."""
    kind = stores.on_postgresql()
    if kind not in _SEEDED:
        with tempfile.TemporaryDirectory(prefix="tripline-test-") as folder:
            database = stores.fresh(Path(folder))
            asyncio.run(_seed(database.open()))
            _SEEDED[kind] = database.content()
    return _SEEDED[kind]


async def _seed(store: Store) -> None:
    await store.write(seed_rows)
    await store.close()


def seed_rows(tx: Any) -> None:
    """Make the rows of `seeded`."""
    tx.run(
        insert(tables.company).values(
            id=COMPANY,
            created_ms=0,
            name="Harbour Freight",
            service_type="harbour",
            master=True,
            master_id=COMPANY,
            token_prefix="HARBO",
        )
    )
    tx.run(
        insert(tables.account).values(
            id=DRIVER,
            created_ms=0,
            company_id=COMPANY,
            authority="DRIVER",
            name="Kim",
            email="kim@example.com",
            login="kim@example.com",
            password_hash="",
            password_updated_ms=0,
            enabled=True,
        )
    )
    for vehicle_id, driver_id in ((VEHICLE, DRIVER), (OTHER_VEHICLE, None)):
        tx.run(
            insert(tables.vehicle),
            fleet_rows.vehicle(
                vehicle_id,
                COMPANY,
                service_type="harbour",
                current_driver_id=driver_id,
                vehicle_no=vehicle_id[-2:],
            ),
        )
    for sensor_id, vehicle_id in ((SENSOR, VEHICLE), (UNMAPPED, None)):
        tx.run(
            insert(tables.sensor),
            fleet_rows.sensor(
                sensor_id, COMPANY, service_type="harbour", vehicle_id=vehicle_id, serial_no=sensor_id[-2:]
            ),
        )
    reaching.recount(tx)


class Rig:
    """A pipeline and its store; use it as a context."""

    def __init__(self, database: stores.Database, *, settings: Ingest | None = None) -> None:
        self.database = database
        self.settings = settings or Ingest()
        self.signals = LocalSignals()
        self.now_ms = NOW
        self._runner = asyncio.Runner()
        self.ids = TimeIds(node=1)
        self.start()

    @classmethod
    def fresh(cls, folder: Path, *, settings: Ingest | None = None) -> "Rig":
        """A rig over a new store with what is `seeded`."""
        return cls(stores.filled(folder, seeded()), settings=settings)

    def start(self) -> None:
        """Open the store and make a pipeline that knows nothing: what a new process does."""
        # No test pulls the plug; the waiting is most of their time.
        self.store = BrokenStore(self.database.open(readers=1))
        self.know_nothing()

    def know_nothing(self) -> None:
        """Make the parts of a new process."""
        self.positions = PositionKeeper(
            store=self.store, signals=self.signals, clock=lambda: self.now_ms, gap_ms=30 * MINUTE
        )
        self.pipeline = self.new_pipeline()
        self.rejected = self.pipeline.rejected

    def new_pipeline(self) -> Pipeline:
        """A pipeline over the rig's store that knows nothing."""
        return Pipeline(
            store=self.store,
            settings=self.settings,
            scoring_grace_s=0,
            late_grace_s=0,
            max_items=1000,
            ids=self.ids,
            signals=self.signals,
            positions=self.positions,
        )

    def note(self, event: Event, at: int, **of: Any) -> None:
        """Add an entry to history."""
        fact = Fact(event=event, actor_id=None, company_id=COMPANY, **of)  # type: ignore[arg-type]  # its own id
        self.run(self.store.write(lambda tx: history.add(tx, fact, ids=self.ids, now_ms=at)))

    def remount(self, at: int, onto: str | None = OTHER_VEHICLE) -> None:
        """Take the sensor off its vehicle and put it on another one."""
        self.note(Event.UNMOUNTED, at, sensor_id=SENSOR, vehicle_id=VEHICLE)
        if onto is not None:
            self.note(Event.MOUNTED, at, sensor_id=SENSOR, vehicle_id=onto)
        self.change(tables.sensor, SENSOR, vehicle_id=onto)
        self.take_in([], again={SENSOR})

    def restart(self, *, clock_set_back: bool = False) -> None:
        """As after a kill: only what is committed is left."""
        self.run(self.store.close())
        if clock_set_back:
            self.ids = TimeIds(node=1)
        self.start()

    def __enter__(self) -> "Rig":
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self.store.close())
        self._runner.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(work)

    def send(self, *bodies: Any, at: int | None = None, sensor: SensorId = SENSOR, topic: str = TOPIC) -> FakeSource:
        """Take messages in as one batch, received `at` (default: the rig's now, which follows)."""
        if at is not None:
            self.now_ms = at
        source = FakeSource(sensor)
        frames = [frame(source, body, self.now_ms, token, topic) for token, body in enumerate(bodies, 1)]
        self.take_in(frames)
        return source

    def take_in(self, frames: list[Frame], **more: Any) -> None:
        self.run(self.pipeline.take_in(frames, now_ms=self.now_ms, **more))

    def rows(self, table: Table, *columns: str) -> list[Any]:
        """Rows in the order of the first key; tuples of the columns, or the one column's values."""
        rows = self.run(self.store.read_short(lambda tx: tx.all(stores.ordered(table, columns))))
        return [row[0] if len(columns) == 1 else tuple(row) for row in rows]

    def change(self, table: Table, key: str, **values: Any) -> None:
        self.run(self.store.write(lambda tx: tx.run(_changing(table), {"key": key, **values})))

    def want(self, asked: Any, *, company: str = COMPANY, host: str | None = "http://receiver.example/") -> None:
        """A company asks for messages (`notifyMsgType`), as its PUT does."""
        self.change(tables.company, company, notify_host=host, notify_msg_type=json.dumps(asked))
        self.signals.notify(observe.SIGNAL_COMPANY_CHANGED, company)

    def pushed(self) -> list[Any]:
        """Bodies of the messages in the outbox, in order."""
        return [json.loads(body) for body in self.rows(tables.push_outbox, "body")]

    def intake(self, kind: type[Intake] = Intake, **more: Any) -> Any:
        """An intake over the rig's store; make it inside the loop."""
        return kind(
            self.new_pipeline(),
            store=self.store,
            settings=self.settings,
            signals=self.signals,
            clock=lambda: self.now_ms,
            **more,
        )


@cache
def _changing(table: Table) -> Update:
    return update(table).where(table.c.id == bindparam("key"))


def frame(source: FakeSource, body: Any, received_ms: int, token: int = 1, topic: str = TOPIC) -> Frame:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Frame(source, topic, raw, received_ms, token)


def answered(sensor_id: SensorId, said: RpcAnswer, received_ms: int, topic: str = "t") -> Answered:
    """A device's answer to a call, as the pipeline hands it on."""
    return Answered(Frame(FakeSource(sensor_id), topic, said.body, received_ms, token=0), said)


def item(at: int, *, tid: Any = 41, lat: float = 35.1577, **more: Any) -> dict[str, Any]:
    """A GPS sample at an instant."""
    return {"tid": tid, "lat": lat, "lon": 129.0591, "alt": 12, "sp": 38, "clt": at, **more}


def microtrip(at: int, *, ty: int = 2, **more: Any) -> dict[str, Any]:
    """A message with one sample."""
    return {"ty": ty, "ts": at, "pld": item(at, **more)}


def aggregate(times: Iterable[int], **more: Any) -> dict[str, Any]:
    samples = [item(at, **more) for at in times]
    return {"ty": 2, "ts": samples[-1]["clt"], "pld": samples}


def trip_message(
    start: int | None, end: int | None, *, ty: int = 1, tid: Any = 41, ts: int | None = None, **more: Any
) -> dict[str, Any]:
    payload = {"tid": tid, "stt": start, "edt": end, **more}
    body: dict[str, Any] = {"ty": ty, "pld": {key: value for key, value in payload.items() if value is not None}}
    if ts is not None:
        body["ts"] = ts
    return body
