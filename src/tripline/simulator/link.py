"""A device's link to the platform: publishes an outbox over MQTTS, reconnecting as needed.

QoS 1, a bounded number of messages in flight, growing pauses between attempts; messages without an acknowledgement
are resent on the next connection. Not here: the messages (`messages.py`), their order and the count of resent ones
(`outbox.py`), MQTT (`client.py`).
"""

import asyncio
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from tripline.mqtt import encode, packets
from tripline.simulator import client
from tripline.simulator.client import Connection, Ears, Gateway, RefusedError, TokenRefusedError, UnreachableError
from tripline.simulator.messages import Message
from tripline.simulator.outbox import Outbox, Tally
from tripline.wire import topics


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a replay."""

    speed: float = 0.0
    """Times the speed of the real drive; 0: as fast as messages are acknowledged."""
    window: int = 20
    """Most messages in flight."""
    patience_s: float = 60.0
    """Time to keep trying without a connection."""
    first_pause_s: float = 0.25
    longest_pause_s: float = 15.0


@dataclass(slots=True, kw_only=True)
class Link:
    """One device that publishes its messages in order until every one is acknowledged."""

    gateway: Gateway
    token: str = field(repr=False)
    messages: Sequence[Message]
    manner: Manner = field(default_factory=Manner)
    on_progress: Callable[[Tally], None] = lambda _: None
    on_trouble: Callable[[str], None] = lambda _: None
    """Called with the reason when a connection ended or failed, in one line."""

    async def deliver(self) -> Tally:
        """Return after the last acknowledgement. Raises `RefusedError` or `UnreachableError`."""
        loop = asyncio.get_running_loop()
        authority = client.trusted(self.gateway.ca)
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
        """Publish until everything is acknowledged (None) or the connection ends (reason)."""
        room = asyncio.Semaphore(self.manner.window)
        under_way: dict[int, int] = {}

        def acknowledged(packet_id: int) -> None:
            number = under_way.pop(packet_id, None)
            if number is not None:
                outbox.acknowledged(number)
                room.release()
                self.on_progress(outbox.tally)

        connect = packets.Connect("", keep_alive_s=client.KEEP_ALIVE_S, user_name=self.token)
        try:
            connection = await client.connected(self.gateway, authority, connect, Ears(acknowledged, lambda _: None))
        except TokenRefusedError as error:
            raise RefusedError(f"{self._where} refused the device's token (return code {error.code}).") from None
        except OSError as error:
            return f"{self._where}: {str(error) or 'no answer'}"
        trouble = None
        try:
            async with asyncio.TaskGroup() as tasks:
                end_of_connection = tasks.create_task(_until_it_ends(connection))
                await self._publish_all(connection, outbox, started, room, under_way)
                end_of_connection.cancel()
        except* ConnectionResetError:
            trouble = f"{self._where}: the connection ended"
        finally:
            connection.leave()
            await connection.ended  # at the latest when it gives up waiting for the platform
        return None if outbox.tally.complete else trouble

    @property
    def _where(self) -> str:
        return f"{self.gateway.host}:{self.gateway.port}"

    async def _publish_all(
        self, connection: Connection, outbox: Outbox, started: float, room: asyncio.Semaphore, under_way: dict[int, int]
    ) -> None:
        """Return after the last acknowledgement. No time-out: either the PUBACKs arrive, or the connection's end
        (keep-alive at the latest) cancels this."""
        while (number := outbox.next) is not None:
            await self._until_due(self.messages[number], started)
            await room.acquire()
            number = outbox.sending()
            # At most a window of messages is in flight, so an identifier is free again long before its reuse.
            packet_id = number % 65_535 + 1
            under_way[packet_id] = number
            connection.write(encode.publish(topics.TRE, self.messages[number].body, qos=1, packet_id=packet_id))
        for _ in range(self.manner.window):  # the whole window is free again: no message is in flight
            await room.acquire()

    async def _until_due(self, message: Message, started: float) -> None:
        if self.manner.speed <= 0:
            return
        wait = started + message.due_s / self.manner.speed - asyncio.get_running_loop().time()
        if wait > 0:
            await asyncio.sleep(wait)


async def _until_it_ends(connection: Connection) -> None:
    """Raises `ConnectionResetError` when the connection ends."""
    await asyncio.shield(connection.ended)  # cancelling this wait does not end the connection
    raise ConnectionResetError
