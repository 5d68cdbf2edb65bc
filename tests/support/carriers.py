"""A carrier's HTTP server on the loopback, that behaves as told: raw bytes, so that it can misbehave."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from tests.support.listeners import listening

DONE = {"result": "DONE"}


@dataclass
class Carrier:
    """What the server answers, and what it was asked."""

    paused: set[str] = field(default_factory=set)
    lifted: dict[str, str] = field(default_factory=dict)
    """Number by request id."""
    raw: bytes | None = None
    """What to send in place of a proper answer."""
    silent: bool = False
    drip: bool = False
    """Send `raw` byte by byte, for ever."""
    asked: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    """Request line, headers and body."""

    def answer(self, body: dict[str, str]) -> bytes:
        """The proper answer."""
        if self.lifted.get(body["requestId"]) == body["mdn"]:
            return reply(200, DONE)
        if body["mdn"] not in self.paused:
            return reply(409, {"result": "REFUSED", "message": "This line is not paused."})
        self.paused.discard(body["mdn"])
        self.lifted[body["requestId"]] = body["mdn"]
        return reply(200, DONE)


def reply(status: int, body: object, *headers: str) -> bytes:
    """An HTTP answer."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


@contextlib.asynccontextmanager
async def serving(carrier: Carrier) -> AsyncIterator[str]:
    """The server's address, while it listens."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        carrier.asked.append((head[0], headers, body))
        if carrier.silent:
            await asyncio.Event().wait()
        writer.write(carrier.answer(body) if carrier.raw is None else carrier.raw)
        await writer.drain()
        while carrier.drip:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with listening(serve) as port:
        yield f"http://127.0.0.1:{port}/api"
