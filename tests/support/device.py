"""A device written by hand from the MQTT 3.1.1 text, independent of Tripline's own codec: asyncio, TLS, QoS 1.

It keeps what was not acknowledged and sends it again, byte for byte, on the next connection: what a careful box does.
"""

import asyncio
import contextlib
import ssl
import struct
from collections import OrderedDict
from dataclasses import dataclass, field


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close the connection, and leave nothing of it open."""
    writer.close()
    with contextlib.suppress(OSError, EOFError):
        async with asyncio.timeout(1):
            await writer.wait_closed()
    writer.transport.abort()  # on a busy machine a second may be too short for both ends to say goodbye
    await asyncio.sleep(0)


def _remaining_length(length: int) -> bytes:
    out = bytearray()
    while True:
        length, digit = divmod(length, 128)
        out.append(digit | (128 if length else 0))
        if not length:
            return bytes(out)


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack(">H", len(raw)) + raw


def connect_packet(token: str, *, keep_alive_s: int = 60, client_id: str = "box") -> bytes:
    """CONNECT with the token as user name, no password, clean session."""
    body = _text("MQTT") + bytes([4, 0x82]) + struct.pack(">H", keep_alive_s) + _text(client_id) + _text(token)
    return b"\x10" + _remaining_length(len(body)) + body


def publish_packet(topic: str, body: bytes, packet_id: int, *, duplicate: bool = False) -> bytes:
    """PUBLISH at QoS 1."""
    inside = _text(topic) + struct.pack(">H", packet_id) + body
    return bytes([0x3A if duplicate else 0x32]) + _remaining_length(len(inside)) + inside


UNAVAILABLE = 3
"""The return code of a server that cannot take anything in for now."""


class RefusedError(Exception):
    """CONNACK carried a return code other than 0."""


@dataclass
class CarefulDevice:
    """Publishes a list of bodies in order, each until it is acknowledged, over as many connections as it takes."""

    token: str
    host: str
    port: int
    tls: ssl.SSLContext | None
    topic: str = "v1/sensors/me/tre"
    window: int = 20
    acknowledged: list[int] = field(default_factory=list)
    """Indexes into the bodies, in the order their PUBACKs came."""
    resent: int = 0

    async def play(self, bodies: list[bytes], *, retry_s: float = 0.05) -> None:
        """Return when every body is acknowledged."""
        waiting: OrderedDict[int, int] = OrderedDict()
        upcoming = 0
        while len(self.acknowledged) < len(bodies):
            try:
                async with asyncio.timeout(5):  # `wait_for` of Python 3.11 may swallow that somebody ends this
                    reader, writer = await asyncio.open_connection(
                        self.host, self.port, ssl=self.tls, server_hostname="localhost" if self.tls else None
                    )
            except (OSError, TimeoutError, ssl.SSLError):
                await asyncio.sleep(retry_s)
                continue
            try:
                writer.write(connect_packet(self.token))
                async with asyncio.timeout(5):
                    connack = await reader.readexactly(4)
                if connack[3] == UNAVAILABLE:
                    await asyncio.sleep(retry_s)
                    continue
                if connack[3]:
                    raise RefusedError(connack[3])
                again = list(waiting.values())
                waiting.clear()
                self.resent += len(again)
                for index in again:
                    waiting[index % 60_000 + 1] = index
                    writer.write(publish_packet(self.topic, bodies[index], index % 60_000 + 1, duplicate=True))
                while len(self.acknowledged) < len(bodies):
                    while len(waiting) < self.window and upcoming < len(bodies):
                        waiting[upcoming % 60_000 + 1] = upcoming
                        writer.write(publish_packet(self.topic, bodies[upcoming], upcoming % 60_000 + 1))
                        upcoming += 1
                    async with asyncio.timeout(20):
                        puback = await reader.readexactly(4)
                    assert puback[:2] == b"\x40\x02", puback
                    self.acknowledged.append(waiting.pop(struct.unpack(">H", puback[2:])[0]))
            except (OSError, EOFError, asyncio.IncompleteReadError, ssl.SSLError, TimeoutError):
                await asyncio.sleep(retry_s)
            finally:
                await hang_up(writer)
