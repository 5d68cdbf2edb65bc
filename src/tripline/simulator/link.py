"""A device's link to the platform: publishes an outbox over MQTTS, over as many connections as it takes.

QoS 1, a bounded number of messages in flight, growing pauses between attempts; what was not acknowledged when a
connection ended is sent again on the next one. Not here: what is sent (`messages.py`), in which order and what counts
as resent (`outbox.py`).
"""

import asyncio
import math
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiomqtt
from paho.mqtt.reasoncodes import ReasonCode

from tripline.simulator.messages import Message
from tripline.simulator.outbox import Outbox, Tally
from tripline.wire import topics

CONNECT_TIMEOUT_S: Final = 15.0
"""What the published device programs wait for a connection (device-messages 1.2)."""
_REFUSALS: Final = {134: 4, 135: 5}
"""paho's reason codes for the CONNACK return codes that no new attempt changes (device-messages C4)."""


class RefusedError(Exception):
    """The platform does not let this device in, and will not later; the text is the one line to show."""


class UnreachableError(Exception):
    """No connection for longer than the patience; the text is the one line to show."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where devices connect, and the certificate authority they trust."""

    host: str
    port: int
    ca: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a replay goes."""

    speed: float = 0.0
    """How many times faster than the drive was; 0: as fast as it is acknowledged."""
    window: int = 20
    """Messages in flight at most."""
    patience_s: float = 60.0
    """How long to go on without a connection."""
    first_pause_s: float = 0.25
    longest_pause_s: float = 15.0


@dataclass(slots=True, kw_only=True)
class Link:
    """One device that publishes its messages in order until every one is acknowledged."""

    door: Door
    token: str = field(repr=False)
    messages: Sequence[Message]
    manner: Manner = field(default_factory=Manner)
    on_progress: Callable[[Tally], None] = lambda _: None
    on_trouble: Callable[[str], None] = lambda _: None
    """Told why a connection ended or was not made, in one line."""

    async def deliver(self) -> Tally:
        """Return when everything is acknowledged. Raises `RefusedError` or `UnreachableError`."""
        loop = asyncio.get_running_loop()
        authority = trusted(self.door.ca)
        outbox = Outbox(len(self.messages))
        started = last_contact = loop.time()
        pauses = self._pauses()
        while not outbox.tally.complete:
            before = outbox.tally.acknowledged
            trouble = await self._one_connection(authority, outbox, started)
            if trouble is None:
                continue
            if outbox.tally.acknowledged > before:
                last_contact, pauses = loop.time(), self._pauses()
            outbox.connection_lost()
            if loop.time() - last_contact >= self.manner.patience_s:
                raise UnreachableError(f"Given up after {self.manner.patience_s:g} s without the platform: {trouble}")
            self.on_trouble(trouble)
            await asyncio.sleep(next(pauses))
        return outbox.tally

    def _pauses(self) -> Iterator[float]:
        pause = self.manner.first_pause_s
        while True:
            yield pause
            pause = min(pause * 2, self.manner.longest_pause_s)

    async def _one_connection(self, authority: ssl.SSLContext, outbox: Outbox, started: float) -> str | None:
        """Publish until everything is acknowledged (None) or the connection ends (why)."""
        client = aiomqtt.Client(
            self.door.host,
            self.door.port,
            username=self.token,
            tls_context=authority,
            timeout=CONNECT_TIMEOUT_S,
            max_inflight_messages=self.manner.window,
        )
        client.pending_calls_threshold = self.manner.window
        try:
            async with client:
                await self._publish_all(client, outbox, started)
        except aiomqtt.MqttError as error:
            if outbox.tally.complete:
                return None
            return self._judged(error)
        return None

    async def _publish_all(self, client: aiomqtt.Client, outbox: Outbox, started: float) -> None:
        """Return when everything is acknowledged; raises `MqttError` when the connection ends before."""
        room = asyncio.Semaphore(self.manner.window)
        try:
            async with asyncio.TaskGroup() as tasks:
                end_of_connection = tasks.create_task(_until_it_ends(client))
                while (number := outbox.next) is not None:
                    await self._until_due(self.messages[number], started)
                    await room.acquire()
                    tasks.create_task(self._publish(client, outbox, outbox.sending(), room))
                for _ in range(self.manner.window):  # the whole room is free again: nothing is under way
                    await room.acquire()
                end_of_connection.cancel()
        except* aiomqtt.MqttError as group:
            raise group.exceptions[0] from None

    async def _until_due(self, message: Message, started: float) -> None:
        if self.manner.speed <= 0:
            return
        wait = started + message.due_s / self.manner.speed - asyncio.get_running_loop().time()
        if wait > 0:
            await asyncio.sleep(wait)

    async def _publish(self, client: aiomqtt.Client, outbox: Outbox, number: int, room: asyncio.Semaphore) -> None:
        # No time-out: either the PUBACK comes, or the connection's end (keep-alive at the latest) cancels this task.
        await client.publish(topics.TRE, self.messages[number].body, qos=1, timeout=math.inf)
        outbox.acknowledged(number)
        room.release()
        self.on_progress(outbox.tally)

    def _judged(self, error: aiomqtt.MqttError) -> str:
        """Why the connection ended, in words; raises `RefusedError` when no new attempt would change it."""
        where = f"{self.door.host}:{self.door.port}"
        if isinstance(error, aiomqtt.MqttCodeError) and isinstance(error.rc, ReasonCode):
            code = _REFUSALS.get(error.rc.value)
            if code is not None:
                raise RefusedError(f"{where} refused the device's token (return code {code}).") from None
        if isinstance(error.__context__, ssl.SSLCertVerificationError):
            raise RefusedError(
                f"The certificate of {where} cannot be verified with {self.door.ca}: "
                f"{error.__context__.verify_message}."
            ) from None
        return f"{where}: {error}"


async def _until_it_ends(client: aiomqtt.Client) -> None:
    """Raises `MqttError` when the connection ends; nothing is subscribed, so no message ever comes."""
    async for _ in client.messages:
        pass


def trusted(ca: Path) -> ssl.SSLContext:
    """What a device needs to trust the authority in the file. Raises `RefusedError`."""
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise RefusedError(f"The CA certificate {ca} cannot be read: {error.strerror or error}.") from error
