"""A light MQTT 3.1.1 client for many devices in one process: one asyncio protocol a connection, no task, no thread.

It connects, subscribes, publishes and keeps the connection alive; its owner tracks messages in flight. The reason for
our own client: decision 604.
"""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

import msgspec

from tripline.mqtt import encode, packets
from tripline.mqtt.decode import PacketReader
from tripline.mqtt.packets import ProtocolError

CONNECT_TIMEOUT_S: Final = 15.0
"""Connect timeout of the published device programs (spec/device-messages 1.2)."""
KEEP_ALIVE_S: Final = 60
_PINGREQ: Final = encode.packet(packets.Pingreq())
_DISCONNECT: Final = encode.packet(packets.Disconnect())
_FAREWELL_S: Final = 1.0
_LARGEST: Final = 65_536
"""Largest packet from the platform, bytes: calls are short (spec/rpc 1)."""
_FINAL: Final = {4: "bad user name", 5: "not authorised"}
"""CONNACK return codes that make retrying useless (spec/device-messages C4)."""


class RefusedError(Exception):
    """The platform refuses this device permanently; the text is shown as one line."""


class UnreachableError(Exception):
    """No connection for longer than the patience; the text is shown as one line."""


class Gateway(msgspec.Struct, frozen=True):
    """The address for devices, and the certificate authority they trust."""

    host: str
    port: int
    ca: Path

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Connection(asyncio.Protocol):
    """One connection. `ended` is done after its end."""

    def __init__(
        self, connect: packets.Connect, on_puback: Callable[[int], None], on_publish: Callable[[packets.Publish], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._granted: asyncio.Future[int] = loop.create_future()
        self._connect = connect
        self._on_puback = on_puback
        self._on_publish = on_publish
        self._loop = loop
        self._reader = PacketReader(limit=_LARGEST)
        self._transport: asyncio.Transport | None = None
        self._heard = self._wrote = loop.time()
        self._alarm: asyncio.TimerHandle | None = None
        self._left = False

    @property
    def open(self) -> bool:
        """True until the connection ends."""
        return not self.ended.done()

    async def ready(self, subscription: str | None) -> None:
        """Wait until the platform has accepted the device and granted the subscription, if any.

        Raises `RefusedError`, or `OSError` if retrying makes sense.
        """
        code = await self._granted
        if code in _FINAL:
            raise RefusedError(f"The platform refused a device's token (return code {code}: {_FINAL[code]}).")
        if code:
            raise ConnectionRefusedError(f"return code {code}")
        if subscription is None:
            return
        self._granted = self._loop.create_future()
        if not self.write(encode.packet(packets.Subscribe(packet_id=1, filters=((subscription, 1),)))):
            raise ConnectionResetError("closed by the platform")
        if await self._granted == packets.SUBSCRIPTION_FAILED:
            raise RefusedError("The platform refused the subscription to calls.")

    def write(self, data: bytes) -> bool:
        """Send; false after the end of the connection."""
        if self._left or self._transport is None or self._transport.is_closing():
            return False
        self._wrote = self._loop.time()
        self._transport.write(data)
        return True

    def leave(self) -> None:
        """End the connection in good order: the platform closes it, or we do after a second.

        If we closed it immediately, both ends of TLS would wait for each other's goodbye.
        """
        if self.write(_DISCONNECT):
            self._left = True
            self._loop.call_later(_FAREWELL_S, self.vanish)

    def vanish(self) -> None:
        """End the connection abruptly, like a pulled plug."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send CONNECT after the TLS handshake."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class does not derive from it
        self.write(encode.packet(self._connect))
        self._alarm = self._loop.call_later(KEEP_ALIVE_S / 2, self._keep_alive)

    def data_received(self, data: bytes) -> None:
        """Process bytes from the platform."""
        self._heard = self._loop.time()
        try:
            for packet in self._reader.receive(data):
                self._take(packet)
        except ProtocolError:
            self.vanish()

    def connection_lost(self, exc: Exception | None) -> None:
        """Finish after any kind of end."""
        if self._alarm is not None:
            self._alarm.cancel()
        if not self.ended.done():
            self.ended.set_result(None)
        if not self._granted.done():
            self._granted.set_exception(exc or ConnectionResetError("closed by the platform"))
            self._granted.exception()  # mark as retrieved: `ready` may not be waiting

    def _take(self, packet: packets.Packet) -> None:
        if isinstance(packet, packets.Puback):
            self._on_puback(packet.packet_id)
        elif isinstance(packet, packets.Publish):
            if packet.qos:
                self.write(encode.answer(0x40, packet.packet_id))
            self._on_publish(packet)
        elif isinstance(packet, packets.Connack) and not self._granted.done():
            self._granted.set_result(packet.code)
        elif isinstance(packet, packets.Suback) and not self._granted.done():
            self._granted.set_result(packet.codes[0])

    def _keep_alive(self) -> None:
        now = self._loop.time()
        if now - self._heard > 1.5 * KEEP_ALIVE_S:
            self.vanish()
            return
        if now - min(self._wrote, self._heard) >= KEEP_ALIVE_S / 2:
            self.write(_PINGREQ)
        self._alarm = self._loop.call_later(KEEP_ALIVE_S / 2, self._keep_alive)


async def connected(
    gateway: Gateway, authority: ssl.SSLContext, make: Callable[[], Connection], *, subscription: str | None = None
) -> Connection:
    """A connection that is ready for publishes. Raises `RefusedError`, or `OSError` if retrying makes sense."""
    connection: Connection | None = None
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(
                make, gateway.host, gateway.port, ssl=authority, server_hostname=gateway.host
            )
            await connection.ready(subscription)
            return connection
    except ssl.SSLCertVerificationError as error:
        raise RefusedError(
            f"The certificate of {gateway} cannot be verified with {gateway.ca}: {error.verify_message}."
        ) from None
    except BaseException:
        if connection is not None:
            connection.vanish()
        raise


def trusted(ca: Path) -> ssl.SSLContext:
    """The TLS context of a device that trusts the authority in the file. Raises `RefusedError`."""
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise RefusedError(f"The CA certificate {ca} cannot be read: {error.strerror or error}.") from error
