"""Send to devices wherever they are connected: here directly, on another gateway through a row and two notifications.

 requester: row --notification--> gateway: takes the row, sends --notification--> requester: outcome

A notification may be lost: the gateway checks every second, and so does the requester. The requester is answered within
`within_s`; a message that was not taken by then is not sent any more.

Not here: sessions (`gateway/roster.py`), the rows (`store/rpc/sends.py`).
"""

import asyncio
import contextlib
from typing import Final, Protocol

from tripline import observe
from tripline.domain.ids import RowNo, SensorId, TimeIds
from tripline.ports.clocks import Clock
from tripline.ports.devices import Delivery
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.services import poll_loop
from tripline.services.nodes import Node
from tripline.services.rpc.group_commit import Gathering
from tripline.store.devices import connections
from tripline.store.rpc import sends
from tripline.store.rpc.sends import Waiting
from tripline.store.transactions import Store

WITHIN_S: Final = 5.0
"""How long the other gateway may take."""
LOOK_S: Final = 1.0
BATCH: Final = 200
log = observe.logger("rpc")


class Here(Protocol):
    """The devices connected to this process."""

    def session_of(self, sensor_id: SensorId) -> RowNo | None:
        """Number of the sensor's session; None: it has none."""

    async def send(self, sensor_id: SensorId, topic: str, body: bytes) -> Delivery:
        """Send a message at QoS 1, or at the lower QoS that the device requested."""


class EveryDevice:
    """Devices connected to any gateway. Implements `ports.devices.Devices`."""

    def __init__(
        self, *, here: Here | None, node: Node, store: Store, ids: TimeIds, signals: Signals, clock: Clock
    ) -> None:
        self._here = here
        self._node = node
        self._store = store
        self._ids = ids
        self._signals = signals
        self._clock = clock
        self._gathering = Gathering(store, locked=True)
        self._waiting: dict[RowNo, asyncio.Future[Delivery]] = {}
        signals.subscribe(observe.SIGNAL_DEVICE_SENT, self._sent)

    async def send(self, sensor_id: SensorId, topic: str, body: bytes) -> Delivery:
        if self._here is not None and await self._is_here(self._here, sensor_id):
            return await self._here.send(sensor_id, topic, body)
        if not self._node.shared:
            return Delivery.NOT_CONNECTED
        no = self._ids.take(1, now_ms=self._clock())
        waiting = Waiting(no, self._node.id, sensor_id, topic, body, in_time=True)
        answer = self._waiting[no] = asyncio.get_running_loop().create_future()
        try:
            gateway = await self._gathering.write(lambda tx: sends.put(tx, waiting, within_ms=round(WITHIN_S * 1000)))
            if gateway is None:
                return Delivery.NOT_CONNECTED
            self._signals.notify(observe.SIGNAL_DEVICE_SEND, gateway)
            return await self._answered(waiting, answer)
        except asyncio.CancelledError:
            # The caller is gone: the message must not be sent later.
            with contextlib.suppress(Outage):
                await self._gathering.write(lambda tx: sends.withdraw(tx, no))
            raise
        finally:
            del self._waiting[no]

    async def _is_here(self, here: Here, sensor_id: SensorId) -> bool:
        """True if the sensor's newest session is here; an older one may be open while the device is elsewhere."""
        session_no = here.session_of(sensor_id)
        if session_no is None or not self._node.shared:
            return session_no is not None
        found = await self._store.read_short(lambda tx: connections.latest(tx, sensor_id))
        return found is None or found.node_id == self._node.id or found.session_no < session_no

    async def _answered(self, waiting: Waiting, answer: asyncio.Future[Delivery]) -> Delivery:
        """Wait for the outcome of the message; without one, infer it from the rows."""
        taken = False
        for _ in range(round(WITHIN_S / LOOK_S)):
            done, _ = await asyncio.wait([answer], timeout=LOOK_S)
            if done:
                return answer.result()
            if taken:
                break  # taken over a second ago: the outcome is lost
            taken = not await self._store.read_short(lambda tx: sends.waits(tx, waiting.no))
        if not taken and await self._gathering.write(lambda tx: sends.withdraw(tx, waiting.no)):
            return Delivery.NOT_CONNECTED
        # The gateway took the message: a device that is connected has it.
        latest = await self._store.read_short(lambda tx: connections.latest(tx, waiting.sensor_id))
        return Delivery.NOT_CONNECTED if latest is None else Delivery.SENT

    def _sent(self, detail: str) -> None:
        asked_by, no, outcome = detail.split(" ")
        answer = self._waiting.get(RowNo(int(no))) if asked_by == self._node.id else None
        if answer is not None and not answer.done():
            answer.set_result(Delivery[outcome])


class Deliverer:
    """Sends messages for other processes."""

    def __init__(self, *, here: Here, node: Node, store: Store, signals: Signals) -> None:
        self._here = here
        self._node = node
        self._store = store
        self._signals = signals
        self._asked = asyncio.Event()
        signals.subscribe(observe.SIGNAL_DEVICE_SEND, self._notified)
        signals.subscribe(observe.SIGNAL_RESYNC, lambda _: self._asked.set())

    async def run(self) -> None:
        """Send on notification, and every second without one, until cancelled."""
        while self._node.shared:
            await poll_loop.set_within(self._asked, LOOK_S)
            self._asked.clear()
            try:
                while await self.deliver() == BATCH:
                    pass
            except Exception as error:  # noqa: BLE001  the worker goes on after any error
                poll_loop.report(error, log, failed="rpc.failed", outage="rpc.failed")

    async def deliver(self) -> int:
        """Send some waiting messages; return how many were taken. Raises `Outage`."""
        node_id = self._node.id
        taken = await self._store.write(lambda tx: sends.take(tx, node_id, limit=BATCH), locked=True)
        for each in taken:
            if each.in_time:
                outcome = await self._here.send(each.sensor_id, each.topic, each.body)
                self._signals.notify(observe.SIGNAL_DEVICE_SENT, f"{each.asked_by} {each.no} {outcome.name}")
        return len(taken)

    def _notified(self, node_id: str) -> None:
        if node_id == self._node.id:
            self._asked.set()
