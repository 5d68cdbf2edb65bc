"""Checks whether this process can do its work, for `/health/ready` and the operator's metrics.

Every few seconds the store, the disk, the certificate and the bus are checked, off the event loop and with a time limit
for each. In between the store's latest transactions count: the first commit that fails shows at once.

Not here: the HTTP answer (`api/health.py`), the doctor's longer checks (`doctor.py`).
"""

import asyncio
import datetime
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from tripline import metrics, observe
from tripline.language import kept
from tripline.language.phrases import Phrase, phrase, verbatim
from tripline.ports.clocks import Clock
from tripline.ports.maps import LostMap, RoadServer
from tripline.ports.outages import Fault, Outage, StoreOutage
from tripline.services import poll_loop
from tripline.services.doctor import Finding
from tripline.store import migrate
from tripline.store.transactions import Store

EVERY_S: Final = 5.0
PATIENCE_S: Final = 15.0
"""Time limit of one check. Another process may lock a database file for ten seconds before that is a problem."""
_MIB: Final = 2**20
_REMEDIES: Final = {
    Fault.AWAY: phrase("ready.store.away", joint=" "),
    Fault.FULL: phrase("ready.store.full", joint=" "),
    Fault.READ_ONLY: phrase("ready.store.read_only", joint=" "),
    Fault.DISK: phrase("ready.store.disk", joint=" "),
    Fault.DAMAGED: phrase("ready.store.damaged", joint=" "),
}
Status: TypeAlias = Literal["ready", "starting", "stopping", "failing"]
_log = observe.logger("health")


class Machine(msgspec.Struct, frozen=True):
    """Measurements of the machine."""

    free_bytes: int
    open_files: int
    open_files_limit: int
    lost_maps: Sequence[LostMap] = ()


class Report(msgspec.Struct, frozen=True):
    """All requirements of a ready server."""

    status: Status
    checks: tuple[Finding, ...]
    certificate_end_ms: int | None = None
    """Expiry of the certificate in use; None: no certificate is presented."""
    authority_end_ms: int | None = None
    """Expiry of our own authority; None: the certificate has another issuer."""
    lost_maps: Sequence[LostMap] = ()
    """Unreadable maps. The server is ready all the same: trips wait for them, and then are scored without them."""
    road_server: RoadServer | None = None
    """The road server; None: not configured, or not checked yet. The server is ready without it, too."""

    @property
    def ready(self) -> bool:
        return self.status == "ready"


class Readiness:
    """Runs the checks, and reports their results."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        measure: Callable[[], Machine],
        certificate_end_ms: Callable[[], int | None],
        reserve_bytes: int | None,
        place: str,
        authority_end_ms: Callable[[], int | None] = lambda: None,
        reach_bus: Callable[[], Awaitable[None]] | None = None,
        reach_roads: Callable[[], None] | None = None,
    ) -> None:
        """`measure` and `reach_roads` may be slow: they are called on a thread. `certificate_end_ms`: expiry of the
        certificate in use; None: none is presented. `authority_end_ms`: expiry of our own authority, if it issued that.
        `reserve_bytes`: None if the store uses another disk; `place`: the folder to name."""
        self._store = store
        self._clock = clock
        self._measure = measure
        self._certificate_end_ms = certificate_end_ms
        self._authority_end_ms = authority_end_ms
        self._reserve_bytes = reserve_bytes
        self._place = place
        self._listeners: Status = "starting"
        self._machine: Machine | None = None
        self._unanswered: Phrase | None = None
        """Reason that the store is unusable although no transaction failed."""
        self._misfit: str | None = None
        self._bus: Phrase | None = None
        self._reach_bus = reach_bus
        self._road_server: RoadServer | None = None
        self._reach_roads = reach_roads
        self._asked: dict[str, asyncio.Task[None]] = {}
        """Checks under way, by name: a check is not repeated before it ends."""
        self._was_ready = True
        self._unseen = {"machine", "store"}
        self._first = asyncio.Event()
        self._opened = asyncio.Event()

    def opened(self) -> None:
        self._listeners = "ready"
        self._opened.set()

    async def serving(self) -> None:
        await self._opened.wait()

    def stopping(self) -> None:
        self._listeners = "stopping"

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self.look(tasks)
                await asyncio.sleep(EVERY_S)

    async def looked(self) -> None:
        """Wait until store and machine were checked once, or timed out; the bus may take longer."""
        await poll_loop.set_within(self._first, PATIENCE_S)

    def report(self) -> Report:
        """The current report. Cheap; never blocks."""
        checks = (self._listeners_check(), self._store_check(), self._schema_check(), *self._others())
        status = self._listeners
        if status == "ready" and not all(check.well for check in checks):
            status = "failing"
        lost = () if self._machine is None else self._machine.lost_maps
        ends_ms = self._certificate_end_ms(), self._authority_end_ms()
        return Report(status, checks, *ends_ms, lost, self._road_server)

    async def look(self, tasks: asyncio.TaskGroup) -> None:
        """Run the checks once; slow ones continue in `tasks`."""
        looks = {"machine": self._look_at_machine, "store": self._look_at_store}
        if self._reach_bus is not None:
            looks["bus"] = self._look_at_bus
        if self._reach_roads is not None:
            looks["roads"] = self._look_at_roads
        for name, look in looks.items():
            if name not in self._asked:
                self._asked[name] = tasks.create_task(self._noted(name, look))
        await asyncio.wait(self._asked.values(), timeout=PATIENCE_S)
        late = {name for name, task in self._asked.items() if not task.done()}
        self._asked = {name: self._asked[name] for name in late}
        if "store" in late:
            self._unanswered = phrase("ready.store.late", seconds=f"{PATIENCE_S:g}")
        if "bus" in late:
            self._bus = phrase("ready.bus.late", seconds=f"{PATIENCE_S:g}")
        if "roads" in late:
            self._road_server = RoadServer(f"The road server does not answer within {PATIENCE_S:g} s.")
        self._tell()

    async def _noted(self, name: str, look: Callable[[], Awaitable[None]]) -> None:
        try:
            await look()
        except Exception:  # noqa: BLE001  the report still has the other checks' results
            _log.exception("health.failed", check=name)
        self._unseen.discard(name)
        if not self._unseen:
            self._first.set()

    async def _look_at_machine(self) -> None:
        before, machine = self._machine, await asyncio.to_thread(self._measure)
        self._machine = machine
        for each in machine.lost_maps:
            if before is None or each not in before.lost_maps:
                _log.warning("map.lost", map=each.name, error=each.why)
        metrics.DISK_FREE.set(machine.free_bytes)
        metrics.OPEN_FILES.set(machine.open_files)
        metrics.OPEN_FILES_LIMIT.set(machine.open_files_limit)
        metrics.CERTIFICATE_ENDS.set((self._certificate_end_ms() or 0) / 1000)

    async def _look_at_store(self) -> None:
        try:
            await self._store.prove()
            self._misfit = await self._store.read(migrate.misfit)
        except StoreOutage:
            self._unanswered = None  # covered by the store's own troubles
        except Outage as outage:
            self._unanswered = kept.phrase_of(str(outage))
        else:
            self._unanswered = None

    async def _look_at_bus(self) -> None:
        assert self._reach_bus is not None
        try:
            await self._reach_bus()
        except Outage as outage:
            self._bus = kept.phrase_of(str(outage))
        else:
            self._bus = None

    async def _look_at_roads(self) -> None:
        assert self._reach_roads is not None
        self._road_server = await asyncio.to_thread(RoadServer.asked, self._reach_roads)

    def _tell(self) -> None:
        report = self.report()
        if report.status in ("starting", "stopping") or report.ready is self._was_ready:
            return
        self._was_ready = report.ready
        if report.ready:
            _log.info("health.well")
        for check in report.checks:
            if not check.well:
                _log.warning("health.failing", check=check.subject, reason=check.text)

    def _listeners_check(self) -> Finding:
        said: dict[Status, Phrase] = {
            "ready": phrase("ready.listeners.open"),
            "starting": phrase("ready.listeners.starting"),
            "stopping": phrase("ready.listeners.stopping"),
        }
        return Finding("listeners", self._listeners == "ready", (said[self._listeners],))

    def _store_check(self) -> Finding:
        met = self._store.troubles.present
        if met is not None:
            return Finding("store", False, (kept.phrase_of(f"{str(met).rstrip('.')}."),), _REMEDIES[met.fault])
        if self._unanswered is not None:
            return Finding("store", False, (self._unanswered,))
        return Finding("store", True, (phrase("ready.store.well"),))

    def _schema_check(self) -> Finding:
        said = phrase("ready.schema.well") if self._misfit is None else verbatim(self._misfit)
        return Finding("schema", self._misfit is None, (said,))

    def _others(self) -> list[Finding]:
        checks = []
        if self._reserve_bytes is not None and self._machine is not None:
            checks.append(_disk(self._machine.free_bytes, self._reserve_bytes, self._place))
        end_ms = self._certificate_end_ms()
        if end_ms is not None:
            checks.append(_certificate(end_ms, now_ms=self._clock()))
        if self._reach_bus is not None:
            checks.append(Finding("bus", self._bus is None, (self._bus or phrase("ready.bus.well"),)))
        return checks


def _disk(free_bytes: int, reserve_bytes: int, place: str) -> Finding:
    free = f"{free_bytes // _MIB:,}"
    if free_bytes < reserve_bytes:
        short = phrase("ready.disk.short", free=free, place=place, reserve=f"{reserve_bytes // _MIB:,}")
        return Finding("disk", False, (short,), phrase("ready.disk.mend"))
    return Finding("disk", True, (phrase("ready.disk.well", free=free, place=place),))


def _certificate(end_ms: int, *, now_ms: int) -> Finding:
    if end_ms <= now_ms:
        ended = phrase("ready.certificate.ended", end=_utc(end_ms))
        return Finding("certificate", False, (ended,), phrase("ready.certificate.mend", joint=" "))
    return Finding("certificate", True, (phrase("ready.certificate.well", end=_utc(end_ms)),))


def _utc(at_ms: int) -> str:
    return f"{datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC):%Y-%m-%d %H:%M} UTC"
