"""The presence of devices, in the store and for customers: changes from the gateway are written in batches.

Pushes to customers (class 500) go into the outbox in the same transactions. A session that was taken over by a newer
one of its sensor ends unnoticed, also on another gateway: the session with the greatest number counts, and the gateway
with an older one is notified. No state is lost while the store is down: the newest state of each sensor waits.

A flapping device causes no pushes. A device that connects is reported at once if customers last heard that it is away,
or never heard of it. A lost device is reported only after a while; one that is taken over or returns in time was never
away:

    reported away --connects--> reported there --lost, back in time--> reported there
                                               --lost for `absent_s`--> reported away

During an outage of the platform no device can return, so the interval restarts afterwards.

Not here: devices connected to this process (`gateway/roster.py`), the receivers of a push (`domain/pushes.py`).
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from tripline import metrics, observe
from tripline.domain import ids as time_ids
from tripline.domain.ids import RowNo, SensorId, TimeIds
from tripline.ports.clocks import Clock
from tripline.ports.devices import TAKEN_OVER
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.services import notifications, poll_loop
from tripline.services.nodes import DEAD_MS, Node
from tripline.services.notifications import Notification
from tripline.services.push import notices
from tripline.services.push.notices import Subject
from tripline.store.database import nodes
from tripline.store.devices import connections
from tripline.store.devices.connections import Change
from tripline.store.transactions import ReadTx, Store, WriteTx


def away_since_ms(*, now_ms: int, watching_since_ms: int, absent_ms: int) -> int | None:
    """Devices that were lost at or before this instant, and are not back, are away; None: no device is away yet.

    `watching_since_ms` is when the platform began to see connections, after a start or an outage.
    """
    before_ms = now_ms - absent_ms
    return before_ms if before_ms >= watching_since_ms else None


GATHER_S: Final = 0.1
"""Shortest interval between writes. A single change is written at once, so that customers learn that a device is
connected before they receive its data."""
LOOK_S: Final = 1.0
"""How often we check for absent devices."""
SEEN_EVERY_MS: Final = 60_000
"""Interval between updates of when connected devices were last active."""
BATCH: Final = 200
"""Sensors in one transaction: it delays the commit of device messages."""
FINISH_S: Final = 5.0
"""How long shutdown waits for a store that is down; after that the next start ends these sessions."""
_PAUSE_S: Final = 1.0
SERVER_LOST: Final = "server_lost"
"""Reason of sessions that a lost server did not end itself."""
Heard: TypeAlias = Callable[[], Iterable[tuple[SensorId, int]]]
"""Returns the sensors with a live session, and when each was last active (epoch ms)."""
log = observe.logger("presence")


class PresenceKeeper:
    """Implements `ports.devices.Presence`. Only the newest change of each sensor waits, which bounds its memory."""

    def __init__(
        self,
        *,
        store: Store,
        ids: TimeIds,
        signals: Signals,
        clock: Clock,
        absent_s: float,
        node: Node | None = None,
        tells_away: bool = True,
    ) -> None:
        """`node`: this process, if there are others; `tells_away`: true if it reports absent devices of all
        processes."""
        self._store = store
        self._ids = ids
        self._signals = signals
        self._clock = clock
        self._absent_ms = int(absent_s * 1000)
        self._node = node if node is not None and node.shared else None
        self._tells_away = tells_away
        self._heard: Heard = tuple
        self._live: dict[SensorId, RowNo] = {}
        self._callable: dict[SensorId, tuple[RowNo, Callable[[], None]]] = {}
        """Sessions without a committed row: their number, and a callback for when it is committed."""
        self._waiting: dict[SensorId, Change] = {}
        self._asked = asyncio.Event()
        self._watching_since_ms = self._seen_written_ms = clock()
        self._in_trouble = False
        if self._node is not None:
            self._node.renewed(self._say_again)

    def connected(self, sensor_id: SensorId, session_no: RowNo, at_ms: int, callable_now: Callable[[], None]) -> None:
        """Record a new session. Other processes can call it once its row is committed; this one can at once."""
        if self._node is None:
            callable_now()
        else:
            self._callable[sensor_id] = session_no, callable_now
        self._begins(sensor_id, session_no, at_ms)

    def _begins(self, sensor_id: SensorId, session_no: RowNo, at_ms: int) -> None:
        self._live[sensor_id] = session_no
        change = Change(sensor_id, connected=True, at_ms=at_ms, seen_ms=at_ms, session_no=session_no)
        before = self._waiting.get(sensor_id)
        # Carry over a loss that is not written yet, or it would never be reported.
        self._put(change if before is None else replace(change, lost_ms=before.lost_ms, reason=before.reason))

    def lost(self, sensor_id: SensorId, session_no: RowNo, at_ms: int, *, seen_ms: int, reason: str) -> None:
        metrics.DISCONNECTS.labels(reason).inc()
        self._pop_callable(sensor_id, session_no)
        if self._live.get(sensor_id) != session_no:
            return
        del self._live[sensor_id]
        if reason != TAKEN_OVER:
            change = Change(sensor_id, connected=False, at_ms=at_ms, seen_ms=seen_ms, session_no=session_no)
            self._put(replace(change, lost_ms=at_ms, reason=reason))

    def unknown(self, sensor_id: SensorId, session_no: RowNo) -> None:
        """Record a live session again that is missing in the rows, unless its change is already waiting."""
        if self._live.get(sensor_id) == session_no and sensor_id not in self._waiting:
            self._begins(sensor_id, session_no, time_ids.ms_of_no(session_no))

    async def begin(self) -> None:
        """In a single process, end all sessions of earlier runs. Call it before the device listener opens."""
        if self._node is None:
            await self._store.write(lambda tx: connections.end_all(tx, reason=SERVER_LOST))

    async def run(self, heard: Heard) -> None:
        """Write changes and report absent devices, until cancelled; `heard` returns the live sessions."""
        self._heard = heard
        loop = asyncio.get_running_loop()
        next_at = loop.time()
        while True:
            if await poll_loop.set_within(self._asked, LOOK_S):
                await asyncio.sleep(next_at - loop.time())
                next_at = loop.time() + GATHER_S
            self._asked.clear()
            if not await self._tried():
                self._asked.set()
                await asyncio.sleep(_PAUSE_S)

    async def finish(self, timeout_s: float = FINISH_S) -> None:
        """Write waiting changes, unless the store stays down."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._waiting:
                    if not await self._tried():
                        await asyncio.sleep(_PAUSE_S)

    async def round(self) -> None:
        """Write all waiting changes, and do some due work. Raises `Outage`; unwritten changes remain."""
        await self._write_down()
        await self._tell_who_is_away()
        await self._write_who_was_heard()

    async def _tried(self) -> bool:
        try:
            await self.round()
        except Exception as error:  # noqa: BLE001  the changes wait after any error
            poll_loop.report(error, log, failed="presence.failed", outage="presence.failed")
            self._in_trouble = self._in_trouble or isinstance(error, Outage)
            return False
        self._out_of_trouble()
        return True

    async def _write_down(self) -> None:
        waiting = list(self._waiting.values())  # without later changes, which never end
        for start in range(0, len(waiting), BATCH):
            changes = waiting[start : start + BATCH]
            await self._keep(changes)
            self._out_of_trouble()
            for change in changes:
                if self._waiting.get(change.sensor_id) is change:
                    del self._waiting[change.sensor_id]
            metrics.PRESENCE_WAITING.set(len(self._waiting))

    async def _keep(self, changes: Sequence[Change]) -> None:
        """Write the changes. A failing change is dropped alone: its sensor's next change is written."""
        now_ms = self._clock()
        try:
            node_id = None if self._node is None else self._node.id
            kept, told = await self._store.write(
                lambda tx: _keep(tx, changes, node_id=node_id, ids=self._ids, now_ms=now_ms), locked=True
            )
        except nodes.Buried:
            if self._node is not None:
                await self._node.beat()
            raise
        except Outage:
            raise
        except Exception:
            if len(changes) == 1:
                log.exception("presence.failed")
                return
            for change in changes:
                await self._keep([change])
        else:
            notifications.send(self._signals, told)
            for change in kept:
                callable_now = self._pop_callable(change.sensor_id, change.session_no)
                if callable_now is not None:
                    callable_now()

    async def _tell_who_is_away(self) -> None:
        if self._in_trouble or not self._tells_away:
            return
        now_ms = self._clock()
        before_ms = away_since_ms(now_ms=now_ms, watching_since_ms=self._watching_since_ms, absent_ms=self._absent_ms)
        if before_ms is None or not await self._store.read_short(lambda tx: self._is_somebody_away(tx, before_ms)):
            return
        back = frozenset(self._live)
        count, told = await self._store.write(
            lambda tx: _tell_away(tx, before_ms=before_ms, back=back, ids=self._ids, now_ms=now_ms), locked=True
        )
        notifications.send(self._signals, told)
        if count:
            self._asked.set()  # there may be more; connections are written first

    def _is_somebody_away(self, tx: ReadTx, before_ms: int) -> bool:
        """True if a device is absent, and a gateway existed that it could have reconnected to."""
        found = connections.away(tx, before_ms=before_ms, limit=1)
        if not found or self._node is None:
            return bool(found)
        since_ms = nodes.gateways_since(tx, for_ms=DEAD_MS)
        return since_ms is not None and since_ms <= before_ms

    async def _write_who_was_heard(self) -> None:
        now_ms = self._clock()
        if now_ms - self._seen_written_ms < SEEN_EVERY_MS:
            return
        heard = [each for each in self._heard() if each[1] > self._seen_written_ms]
        for start in range(0, len(heard), BATCH):
            some = heard[start : start + BATCH]
            await self._store.write(lambda tx, some=some: connections.seen(tx, some), locked=True)  # type: ignore[misc]
        self._seen_written_ms = now_ms

    def _say_again(self) -> None:
        """Record all live sessions again, because this process continues as another node."""
        for sensor_id, session_no in self._live.items():
            self.unknown(sensor_id, session_no)

    def _pop_callable(self, sensor_id: SensorId, session_no: RowNo) -> Callable[[], None] | None:
        """Take the callback for when this session can be called; None: it was called before, or none was given."""
        number, callable_now = self._callable.get(sensor_id, (None, None))
        if number != session_no:
            return None
        del self._callable[sensor_id]
        return callable_now

    def _put(self, change: Change) -> None:
        self._waiting[change.sensor_id] = change
        metrics.PRESENCE_WAITING.set(len(self._waiting))
        self._asked.set()

    def _out_of_trouble(self) -> None:
        """After an outage of the store, give absent devices their time again: none could connect meanwhile."""
        if self._in_trouble:
            self._in_trouble = False
            self._watching_since_ms = self._clock()


def _keep(
    tx: WriteTx, changes: Sequence[Change], *, node_id: str | None, ids: TimeIds, now_ms: int
) -> tuple[list[Change], tuple[Notification, ...]]:
    """Write the changes of existing sensors, push connections, and notify of ended older sessions; return the
    changes."""
    if node_id is not None:
        nodes.require(tx, node_id)
    subjects = connections.subjects(tx, [change.sensor_id for change in changes], now_ms=now_ms)
    known = [(change, subjects[change.sensor_id]) for change in changes if change.sensor_id in subjects]
    kept = [(change, subject) for change, subject in known if not _is_past(change, subject, now_ms)]
    came = [
        notices.Connected(Subject(change.sensor_id, subject.company_id, subject.vehicle_id), True, change.at_ms)
        for change, subject in kept
        if change.connected and not subject.told
    ]
    told = {change.sensor_id: change.connected or subject.told for change, subject in kept}
    connections.write(tx, [change for change, _ in kept], told, node_id=node_id)
    over = [
        (change.sensor_id, max(change.session_no, subject.session_no))
        for change, subject in known
        if change.connected and subject.connected and subject.session_no and subject.node_id != node_id
    ]
    news = notices.connections(tx, came, ids=ids, now_ms=now_ms)
    return [change for change, _ in kept], (*news, *notifications.sessions_began(over))


def _is_past(change: Change, subject: connections.Subject, now_ms: int) -> bool:
    """True if a stored session of another gateway is newer.

    A number from the future comes from a clock that is ahead of ours. Then the order is unknown: the last write counts,
    and a gateway that still has a greater number reports it again.
    """
    if subject.session_no <= change.session_no:
        return False
    return not change.connected or (subject.connected and time_ids.ms_of_no(subject.session_no) <= now_ms)


def _tell_away(
    tx: WriteTx, *, before_ms: int, back: frozenset[SensorId], ids: TimeIds, now_ms: int
) -> tuple[int, tuple[Notification, ...]]:
    """Push the absence of some devices, except ones with a waiting connection; return their number."""
    gone = [
        each for each in connections.away(tx, before_ms=before_ms, limit=BATCH, lock=True) if each.sensor_id not in back
    ]
    if not gone:
        return 0, ()
    connections.told_away(tx, [each.sensor_id for each in gone])
    told = [
        notices.Connected(Subject(each.sensor_id, each.company_id, each.vehicle_id), False, each.lost_ms)
        for each in gone
    ]
    return len(gone), notices.connections(tx, told, ids=ids, now_ms=now_ms)
