"""Customers' servers on the loopback that receive pushes, and behave as told: bytes, so that they can misbehave."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tests.support.listeners import listening


class Then(Enum):
    """What the server does when it has sent its answer."""

    KEEP = "reads the next request"
    CLOSE = "hangs up"
    SHUT = "ends its side of the connection and does nothing more"
    RESET = "resets the connection"
    HANG = "keeps the connection open and does nothing, for ever"
    DRIP = "sends the last byte of the answer again and again, for ever"
    FLOOD = "sends kibibytes, for ever"


PRIVATE = (
    "The address is within a private network; the operator of this installation can allow such addresses"
    " with push.allow_private."
)
"""Why nothing is sent to the servers of this machine, unless that is allowed."""


@dataclass(frozen=True)
class Reply:
    """An answer and what follows it; no bytes at all is a server that says nothing."""

    raw: bytes
    then: Then = Then.KEEP
    after_s: float = 0.0
    """How long the server takes."""


@dataclass(frozen=True)
class Request:
    """What the server was sent."""

    line: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """Which connection it came on, from 1."""

    @property
    def id(self) -> str:
        """Its `webhook-id`."""
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        """Its body, decoded."""
        return json.loads(self.body)


def status(code: int, *headers: str, body: bytes = b"") -> bytes:
    """A proper answer."""
    lines = [f"HTTP/1.1 {code} X", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


OK = Reply(status(200))
STATUS_LINE_ONLY = Reply(b"HTTP/1.1 200 OK\r\n", Then.HANG)
SILENT = Reply(b"", Then.HANG)


@dataclass
class Receiver:
    """How a server answers, and what it was sent."""

    answer: Callable[[Request], Reply] = lambda _: OK
    requests: list[Request] = field(default_factory=list)
    port: int = 0
    connections: int = 0
    open_connections: int = 0
    most_at_once: int = 0
    """Requests that were under way at the same time, at most."""
    under_way: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/noti"

    @property
    def bodies(self) -> list[bytes]:
        """What came, in order."""
        return [request.body for request in self.requests]

    async def until(self, count: int, *, timeout_s: float = 10.0) -> None:
        """Wait until so many requests have come."""
        async with asyncio.timeout(timeout_s):
            while len(self.requests) < count:
                self._news.clear()
                await self._news.wait()

    async def until_left(self, *, timeout_s: float = 5.0) -> None:
        """Wait until no connection is open."""
        async with asyncio.timeout(timeout_s):
            while self.open_connections:
                self._news.clear()
                await self._news.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        self.open_connections += 1
        number = self.connections
        try:
            while await self._exchange(reader, writer, number):
                pass
        finally:
            self.open_connections -= 1
            self._news.set()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(": ") for line in head[1:] if line)
        headers = {name.lower(): value for name, _, value in pairs}
        body = await reader.readexactly(int(headers["content-length"]))
        request = Request(head[0], headers, body, number)
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        self.requests.append(request)
        self._news.set()
        try:
            reply = self.answer(request)
            await asyncio.sleep(reply.after_s)
            writer.write(reply.raw)
            await writer.drain()
            return await self._go_on(reader, writer, reply)
        finally:
            self.under_way -= 1

    async def _go_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: Reply) -> bool:
        if reply.then is Then.SHUT:
            writer.write_eof()
        if reply.then is Then.RESET:
            writer.transport.abort()
        if reply.then in (Then.HANG, Then.SHUT):
            await reader.read()
        while reply.then in (Then.DRIP, Then.FLOOD) and not reader.at_eof():
            writer.write(reply.raw[-1:] if reply.then is Then.DRIP else b"x" * 1_024)
            await writer.drain()
            await asyncio.sleep(0.01 if reply.then is Then.DRIP else 0)
        return reply.then is Then.KEEP


@contextlib.asynccontextmanager
async def serving(
    receiver: Receiver, *, port: int = 0, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """The server while it listens, on this port or any."""
    async with listening(receiver.serve, port=port, host=host, tls=tls) as receiver.port:
        yield receiver
