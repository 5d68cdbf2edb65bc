"""One simulated device: sends its steps when they are due, keeps messages until they are acknowledged, answers calls.

At most a window of messages is in flight; after a lost connection, unacknowledged messages are resent in order with
the DUP flag. Not here: the messages (`itinerary.py`, `messages.py`), answers to calls (`calls.py`), the bytes
(`client.py`).
"""

import asyncio
import ssl
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import msgspec

from tripline.mqtt import encode, packets
from tripline.simulator import calls, client
from tripline.simulator.books import Ledger
from tripline.simulator.client import Connection, Gateway, RefusedError, UnreachableError
from tripline.simulator.drafts import Cut, Kind, Message, Step
from tripline.wire import topics

WINDOW: Final = 20
REPLIES: Final = 100
"""Most answers in flight or waiting; further calls are not answered."""
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 10.0


class Pace(msgspec.Struct):
    """The fleet's clock: `speed` times real time since `begin`; 0: everything is due at once."""

    speed: float
    begin: float = 0.0

    def wait_s(self, due_s: float, now: float) -> float:
        """Seconds until something is due; `now` and `begin` on the loop's clock."""
        return 0.0 if self.speed <= 0 else self.begin + due_s / self.speed - now


class Access(msgspec.Struct, frozen=True):
    """Shared data that the devices of a fleet need to connect."""

    gateway: Gateway
    trusted: ssl.SSLContext
    doorway: asyncio.Semaphore
    """Limits concurrent handshakes."""
    patience_s: float


@dataclass(slots=True, kw_only=True)
class Box:
    """One device. `run` plays `steps`; `online` is set while it can be called."""

    access: Access
    token: str = field(repr=False)
    client_id: str
    manner: str | None = "script"
    """Manner of answering calls; None: it takes none."""
    window: int = WINDOW
    """Most messages in flight."""
    on_trouble: Callable[[str], None] = lambda _: None
    """Called with the reason when a connection ended or failed, in one line."""
    ledger: Ledger = field(default_factory=Ledger)
    online: asyncio.Event = field(default_factory=asyncio.Event)
    _connection: Connection | None = None
    _under_way: OrderedDict[int, Message] = field(default_factory=OrderedDict)
    _last_id: int = 1
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _away_s: float = 0.0
    _gone: bool = False
    _progressed: bool = False
    """True if the platform acknowledged messages of this connection, or none is in flight at its end."""
    _replies: int = 0
    _hurried: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, ready: asyncio.Future[Iterator[Step]], pace: Pace) -> None:
        """Connect, send the steps once `ready` has them, wait for all acknowledgements, then leave."""
        try:
            async with asyncio.TaskGroup() as tasks:
                keeping = tasks.create_task(self._keep_connected())
                await self._play(await asyncio.shield(ready), pace)
                await self._settled()
                keeping.cancel()
        except* (RefusedError, UnreachableError) as group:
            self.ledger.failure = str(group.exceptions[0])
        finally:
            for message in self._under_way.values():
                if message.written:
                    self.ledger.left(message)
            self._under_way.clear()
            await self._leave()

    async def _play(self, steps: Iterator[Step], pace: Pace) -> None:
        for step in steps:
            in_time = await self._until(pace, step.due_s)
            if isinstance(step, Message):
                if in_time or step.kind is Kind.TRIP:
                    await self._room()
                    self._publish(step)
            else:
                self._gone = step.for_good
                self._cut(step)
                if self._gone:
                    return

    def hurry(self) -> None:
        """Stop waiting for later steps."""
        self._hurried.set()

    async def _until(self, pace: Pace, due_s: float) -> bool:
        """Wait until a step is due; false if it is due later, but the device is to hurry."""
        wait_s = pace.wait_s(due_s, asyncio.get_running_loop().time())
        if wait_s <= 0:
            await asyncio.sleep(0)  # even in a hurry, let others run and acknowledgements arrive
            return True
        try:
            async with asyncio.timeout(wait_s):
                return not await self._hurried.wait()
        except TimeoutError:
            return True

    def _cut(self, step: Cut) -> None:
        self._away_s = step.away_s
        if self._connection is not None:
            (self._connection.leave if step.tidy else self._connection.vanish)()

    async def _room(self) -> None:
        while len(self._under_way) >= self.window or (self._connection is None and not self._gone):
            self._changed.clear()
            # No time-out: either an acknowledgement comes, or the keeper of the connection gives up and cancels this.
            await self._changed.wait()

    async def _settled(self) -> None:
        """Wait until no message is in flight and no answer is due."""
        while not self._gone and (self._under_way or self._replies):
            self._changed.clear()
            await self._changed.wait()  # as above

    def _publish(self, message: Message) -> None:
        """Write it, and keep it if it will be acknowledged."""
        packet_id = 0
        if message.qos:
            packet_id = self._free_id()
            self._under_way[packet_id] = message
        self._write(message, packet_id)

    def _write(self, message: Message, packet_id: int) -> None:
        if self._connection is None:
            return
        qos = message.qos
        dup = qos > 0 and (message.again or message.written)
        publish = encode.publish(
            message.topic, message.body, qos=qos, packet_id=packet_id, retain=message.retain, dup=dup
        )
        if self._connection.write(publish):
            self.ledger.sent(message)
            message.written = True

    def _free_id(self) -> int:
        while True:
            self._last_id = self._last_id % 65_535 + 1
            if self._last_id not in self._under_way:
                return self._last_id

    def _acknowledged(self, packet_id: int) -> None:
        message = self._under_way.pop(packet_id, None)
        if message is not None:
            self.ledger.acknowledged(message)
            self._progressed = True
            self._changed.set()

    def _called(self, publish: packets.Publish) -> None:
        if self.manner is None or not publish.topic.startswith(topics.RPC_REQUEST):
            return
        request_id = publish.topic.removeprefix(topics.RPC_REQUEST)
        for reply in calls.replies(self.manner, publish.body):
            if self._replies >= REPLIES:
                return
            self._replies += 1
            topic = (topics.RPC_RESULT if reply.is_result else topics.RPC_RESPONSE) + request_id
            message = Message(due_s=0, kind=Kind.ANSWER, topic=topic, body=reply.body, kept=0)
            asyncio.get_running_loop().call_later(reply.after_s, self._answer, message)

    def _answer(self, message: Message) -> None:
        self._replies -= 1
        if not self._gone:
            self._publish(message)
        self._changed.set()

    async def _keep_connected(self) -> None:
        """Connect again and again. Raises when retrying is of no use."""
        loop, patience_s, gateway = asyncio.get_running_loop(), self.access.patience_s, self.access.gateway
        last_contact, pause_s = loop.time(), _FIRST_PAUSE_S
        while not self._gone:
            trouble = f"{gateway}: {await self._one_connection()}"
            if self._progressed:
                last_contact, pause_s = loop.time(), _FIRST_PAUSE_S
            elif loop.time() - last_contact >= patience_s:
                raise UnreachableError(f"Given up after {patience_s:g} s without the platform: {trouble}")
            self.on_trouble(trouble)
            away_s, self._away_s = self._away_s, 0.0
            await asyncio.sleep(away_s or pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _one_connection(self) -> str:
        """Connect, resend messages in flight, and wait for the end; return the reason for it."""
        self._progressed = False
        connect = packets.Connect(self.client_id, keep_alive_s=client.KEEP_ALIVE_S, user_name=self.token)
        make = partial(Connection, connect, self._acknowledged, self._called)
        calls_from = None if self.manner is None else topics.RPC_REQUESTS
        try:
            async with self.access.doorway:
                connection = await client.connected(
                    self.access.gateway, self.access.trusted, make, subscription=calls_from
                )
        except OSError as error:
            return str(error) or "no answer"
        self._connection = connection
        self.ledger.connections += 1
        for packet_id, message in self._under_way.items():
            self._write(message, packet_id)
        self.online.set()
        self._changed.set()
        await asyncio.shield(connection.ended)  # cancelling the keeper does not end the connection
        self._connection = None
        self.online.clear()
        self._progressed |= not self._under_way
        return "the connection ended"

    async def _leave(self) -> None:
        connection, self._connection = self._connection, None
        self.online.clear()
        if connection is None or not connection.open:
            return
        connection.leave()
        await connection.ended  # at the latest when the connection gives up waiting for the platform
