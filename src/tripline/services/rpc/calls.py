"""A call from the application's request to the device's acknowledgement: store it, send it, wait, answer.

 stored (REQUESTED) --sent--> waits --ack, or result (R6)--> answered
      --not sent--> FAILED 5002, refused --no ack in time--> TIMEOUT 5001, refused

A waiter reads the row: on notification, and now and then without one. A call does not depend on its caller: it
continues to its end after the caller disconnects.

Calls of dead processes are ended by any process that claims them (`Overdue`), which also deletes old calls.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from tripline import config, observe
from tripline.domain import rpc
from tripline.domain.access import Actor
from tripline.domain.ids import CompanyId, RequestId, SensorId, TimeIds, UserId, first_no
from tripline.domain.instants import DAY_MS
from tripline.domain.refusals import Refusal
from tripline.domain.rpc import Call, CallEvent
from tripline.observe import logger
from tripline.ports.clocks import Clock
from tripline.ports.devices import Delivery, Devices
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.services import notifications, poll_loop
from tripline.services.notifications import Notification
from tripline.services.rpc import requests
from tripline.services.rpc.group_commit import Gathering
from tripline.store.rpc import calls as rpc_calls
from tripline.store.rpc.calls import Standing
from tripline.store.transactions import ReadTx, Store, WriteTx
from tripline.wire import topics
from tripline.wire.rpc import LONGEST_ACK_MS, CallRequest

WAITING: Final = 10_000
"""Most calls that wait at a time. These three bounds hold per process."""
WAITING_OF_COMPANY: Final = 2_500
"""Most of them for one company's accounts: a company with many silent devices leaves room for others."""
WAITING_OF_SENSOR: Final = 32
LOOK_S: Final = 1.0
"""Interval between checks without a notification."""
_TRY_AGAIN_S: Final = 1

_UNDELIVERED: Final[dict[Delivery, Callable[[], Refusal]]] = {
    Delivery.NOT_CONNECTED: rpc.NotConnected,
    Delivery.NOT_SUBSCRIBED: rpc.NotSubscribed,
    Delivery.CONGESTED: rpc.Congested,
}


class Answered(msgspec.Struct, frozen=True):
    """A call that the device acknowledged."""

    call: Call
    body: bytes
    """The acknowledgement as sent; or the result, if there was no acknowledgement (R6)."""
    is_result: bool


class Calls:
    """Makes calls. `stop` ends all waiting."""

    def __init__(
        self, *, store: Store, devices: Devices, settings: config.Rpc, ids: TimeIds, signals: Signals, clock: Clock
    ) -> None:
        self._store = store
        self._devices = devices
        self._settings = settings
        self._ids = ids
        self._signals = signals
        self._clock = clock
        self._gathering = Gathering(store)
        self._waiting: dict[RequestId, asyncio.Event] = {}
        self._under_way = 0
        self._of_sensor: defaultdict[SensorId, int] = defaultdict(int)
        self._of_company: defaultdict[CompanyId | UserId, int] = defaultdict(int)
        self._stopping = False
        signals.subscribe(observe.SIGNAL_RPC_ANSWERED, self._look)
        signals.subscribe(observe.SIGNAL_RESYNC, lambda _: self._look_at_all())

    def stop(self) -> None:
        """Stop callers waiting, because the server stops. Calls under way continue in their rows."""
        self._stopping = True
        self._look_at_all()

    async def call(
        self, *, actor: Actor, sensor_id: SensorId, asked: CallRequest, admit: Callable[[ReadTx], None] = lambda _: None
    ) -> Answered:
        """Make a call and return the device's acknowledgement; `admit` refuses callers who lost access meanwhile.

        Raises `NotFound`, `Forbidden`, `rpc.NotConnected`, `rpc.NotSubscribed`, `rpc.Congested`, `rpc.NoAck`,
        `rpc.Cancelled`, `rpc.TooManyCalls`, or `Outage` when the store is away or the server stops.
        """

        def begin(tx: WriteTx, ack_ms: int) -> tuple[Call, bytes]:
            now_ms = self._clock()
            call = requests.begin(
                tx, actor=actor, sensor_id=sensor_id, asked=asked, ack_ms=ack_ms, ids=self._ids, now_ms=now_ms
            )
            return call, asked.message

        answered = await self.through(actor, sensor_id, begin, ack_ms=asked.ack_ms, admit=admit)
        assert answered is not None
        return answered

    async def through(
        self,
        actor: Actor,
        sensor_id: SensorId,
        begin: Callable[[WriteTx, int], tuple[Call, bytes] | None],
        *,
        ack_ms: int = LONGEST_ACK_MS,
        admit: Callable[[ReadTx], None] = lambda _: None,
    ) -> Answered | None:
        """Like `call`, for a call that `begin` stores and returns with its message; None: `begin` makes no call.

        `begin` receives the device's time to acknowledge, in ms. Also raises the errors of `begin`.
        """
        ack_ms = min(ack_ms, round(self._settings.ack_s * 1000))
        until = asyncio.get_running_loop().time() + ack_ms / 1000
        with self._place(actor.company_id or actor.user_id, sensor_id):
            begun = await self._gathering.write(lambda tx: begin(tx, ack_ms))
            if begun is None:
                return None
            call, message = begun
            # Before it is sent: the device may answer before the sending returns.
            event = self._waiting[call.id] = asyncio.Event()
            try:
                await self._sent(call, message, until)
                standing = await self._acknowledged(call, event, until, admit)
            finally:
                del self._waiting[call.id]
        return _answered(call, standing)

    async def start(
        self, actor: Actor, sensor_id: SensorId, begin: Callable[[WriteTx, int], tuple[Call, bytes] | None]
    ) -> Call | None:
        """Like `through`, for a caller that does not wait for the acknowledgement: return the call once it is sent.

        Later answers are stored in its row. If none arrives in time, `calls.py` ends the call. Raises like
        `through`, but neither `NoAck` nor `Cancelled`.
        """
        ack_ms = min(LONGEST_ACK_MS, round(self._settings.ack_s * 1000))
        until = asyncio.get_running_loop().time() + ack_ms / 1000
        with self._place(actor.company_id or actor.user_id, sensor_id):
            begun = await self._gathering.write(lambda tx: begin(tx, ack_ms))
            if begun is None:
                return None
            call, message = begun
            await self._sent(call, message, until)
        return call

    async def _sent(self, call: Call, message: bytes, until: float) -> None:
        """Send the call; end and refuse an undeliverable one."""
        delivery = await self._send(call, message, until)
        if delivery is not Delivery.SENT:
            await self._end(call, CallEvent.UNDELIVERABLE)
            raise _UNDELIVERED[delivery]()

    async def _send(self, call: Call, message: bytes, until: float) -> Delivery:
        try:
            async with asyncio.timeout_at(until):
                return await self._devices.send(call.sensor_id, topics.RPC_REQUEST + call.id, message)
        except TimeoutError:
            return Delivery.CONGESTED

    async def _acknowledged(
        self, call: Call, event: asyncio.Event, until: float, admit: Callable[[ReadTx], None]
    ) -> Standing | None:
        """Wait for an answer or the deadline, and return the call's status; None: it was deleted with its sensor."""

        def look(tx: ReadTx) -> Standing | None:
            standing = rpc_calls.standing(tx, call.no)
            if standing is not None and _is_said(standing):
                admit(tx)
            return standing

        loop = asyncio.get_running_loop()
        while (now := loop.time()) < until:
            unasked = loop.call_at(min(until, now + LOOK_S), event.set)
            try:
                await event.wait()
            finally:
                unasked.cancel()
            # Before the read: a later answer sets the event again.
            event.clear()
            # Access is checked after the answer is read: a consistent snapshot of both is not needed.
            standing = await self._store.read_short(look, consistent=False)
            if standing is None or _is_answered(standing):
                return standing
            if self._stopping:
                raise Outage("The server stops; the device's answer will be in the record of the call.")
        await self._end(call, CallEvent.NO_ACK)
        # The acknowledgement may have come first: then the call was not ended, and the row has it.
        return await self._store.read_short(look)

    async def _end(self, call: Call, event: CallEvent) -> None:
        pending = await self._gathering.write(
            lambda tx: requests.end(tx, request_id=call.id, event=event, ids=self._ids, now_ms=self._clock())
        )
        notifications.send(self._signals, pending)

    def _look(self, request_id: str) -> None:
        event = self._waiting.get(RequestId(request_id))
        if event is not None:
            event.set()

    def _look_at_all(self) -> None:
        for event in self._waiting.values():
            event.set()

    @contextlib.contextmanager
    def _place(self, company_id: CompanyId | UserId, sensor_id: SensorId) -> Iterator[None]:
        """Reserve a place for a waiting call. Raises `rpc.TooManyCalls`, or `Outage` when the server stops."""
        if self._stopping:
            raise Outage("The server stops.")
        if (
            self._of_sensor.get(sensor_id, 0) >= WAITING_OF_SENSOR
            or self._of_company.get(company_id, 0) >= WAITING_OF_COMPANY
            or self._under_way >= WAITING
        ):
            raise rpc.TooManyCalls(after_s=_TRY_AGAIN_S)
        self._under_way += 1
        self._of_sensor[sensor_id] += 1
        self._of_company[company_id] += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._of_sensor[sensor_id] -= 1
            self._of_company[company_id] -= 1
            if not self._of_sensor[sensor_id]:
                del self._of_sensor[sensor_id]
            if not self._of_company[company_id]:
                del self._of_company[company_id]


def _is_said(standing: Standing) -> bool:
    return standing.response is not None or standing.result is not None


def _is_answered(standing: Standing) -> bool:
    """True if the device answered, or the call ended without an answer."""
    return _is_said(standing) or standing.result_code is not None


def _answered(call: Call, standing: Standing | None) -> Answered:
    """Return the device's answer. Raises `rpc.Cancelled` or `rpc.NoAck` if there was none."""
    if standing is not None and standing.response is not None:
        return Answered(call, standing.response, is_result=False)
    if standing is not None and standing.result is not None:
        return Answered(call, standing.result, is_result=True)
    if standing is None or standing.result_code == rpc.PLATFORM_CODES[CallEvent.CANCEL]:
        raise rpc.Cancelled()
    raise rpc.NoAck(request_id=call.id)


EVERY_S: Final = 2.0
MARGIN_MS: Final = 3_000
"""Grace beyond a call's deadline: the process that waits for it ends it first."""
BATCH: Final = 100
"""Calls in one transaction: it delays the commit of device messages."""

log = logger("rpc")


class Overdue:
    """Ends overdue calls and deletes old ones, in small transactions."""

    def __init__(self, *, store: Store, settings: config.Rpc, ids: TimeIds, signals: Signals, clock: Clock) -> None:
        self._store = store
        self._kept_ms = int(settings.kept_days * DAY_MS)
        self._ids = ids
        self._signals = signals
        self._clock = clock

    async def run(self) -> None:
        await poll_loop.periodically(self.sweep, every_s=EVERY_S, log=log, failed="rpc.failed")

    async def sweep(self) -> int:
        """End a batch of overdue calls and delete a batch of old ones; return the larger number. Raises `Outage`."""
        now_ms = self._clock()
        if not await self._store.read_short(lambda tx: self._is_due(tx, now_ms)):
            return 0

        def work(tx: WriteTx) -> tuple[int, tuple[Notification, ...]]:
            overdue = rpc_calls.overdue(tx, before_ms=now_ms - MARGIN_MS, limit=BATCH, lock=True)
            pending = requests.end_all(tx, overdue, event=CallEvent.NO_ACK, ids=self._ids, now_ms=now_ms)
            gone = rpc_calls.purge(tx, before_no=first_no(now_ms - self._kept_ms), limit=BATCH)
            return max(len(overdue), gone), pending

        done, pending = await self._store.write(work, locked=True)
        notifications.send(self._signals, pending)
        return done

    def _is_due(self, tx: ReadTx, now_ms: int) -> bool:
        return bool(
            rpc_calls.overdue(tx, before_ms=now_ms - MARGIN_MS, limit=1)
            or rpc_calls.old(tx, before_no=first_no(now_ms - self._kept_ms), limit=1)
        )
