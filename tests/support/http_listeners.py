"""An HTTP listener on loopback with an application that echoes, and somebody who talks to it byte by byte."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import uvicorn
from uvicorn.server import ServerState

from tests.support.clocks import SteppedLoop, stepped
from tripline.adapters.http.bounds import Bounds
from tripline.adapters.http.connection import Connection, Shared
from tripline.adapters.http.entrance import Entrance, Listener
from tripline.adapters.http.listeners import HttpListeners
from tripline.adapters.http.places import Places
from tripline.adapters.http.turns import Turns

NOW_MS: Final = 1_760_000_000_000
HEAD: Final = b"POST /x HTTP/1.1\r\nHost: x\r\n"
_BOUNDS: Final = Bounds()
CHUNKED: Final = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Any]]


async def echo(scope, receive, send):
    """Answer with the body; a request that does not come whole gets no answer."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


def with_listener(
    bounds: Bounds, talk: Talk, app: Any = echo, *, listener: socket.socket | None = None, steps: bool = False
) -> Any:
    """What `talk` returns, given a connection to a listener with these bounds.

    With `steps` time passes only where `talk` moves the clock of its loop (`clocks.py`).
    """

    async def play() -> Any:
        listeners = HttpListeners(app, {"api": listening}, tls=None, clock=lambda: NOW_MS, bounds=bounds)
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(listeners.serve())
            await listeners.opened.wait()
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            answer = await asyncio.wait_for(talk(reader, writer), None if steps else 20)
            if steps:
                stepped().go()
            writer.close()
            listeners.stop()
            await serving
        return answer

    listening = listener or socket.create_server(("127.0.0.1", 0))
    with listening, asyncio.Runner(loop_factory=SteppedLoop if steps else None) as runner:
        return runner.run(play())


def sending(*chunks: bytes) -> Talk:
    """Send chunks one by one, then read until the listener closes."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
        return await reader.read()

    return talk


def endless(start: bytes, piece: bytes, *, most: int = 50_000_000) -> Talk:
    """Send `start` and then `piece` again and again until the listener answers or hangs up; the answer.

    Fails when the listener has taken `most` bytes.
    """

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(start)
        answer = asyncio.ensure_future(reader.read())
        sent = 0
        while not answer.done():
            assert sent < most, f"the listener took {sent} bytes"
            writer.write(piece)
            sent += len(piece)
            try:
                await writer.drain()
            except ConnectionError:
                break
            await asyncio.sleep(0)
        try:
            return await answer
        except ConnectionError:
            return b""

    return talk


def error_of(answer: bytes, status: int = 400) -> dict[str, object]:
    """The body of the answer, which must have the status and the form of every error."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    assert b"content-type: application/json;charset=UTF-8" in head
    record: dict[str, object] = json.loads(body)
    return record


class Written(asyncio.Transport):
    """Keeps each piece that is written to it, as the socket of a peer with this address."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        super().__init__({"peername": (address, 1)})
        self.pieces: list[bytes] = []
        self.closed = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """As the loop does."""
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """The protocol of the socket."""
        return self._protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Keep it."""
        assert not self.closed
        self.pieces.append(bytes(data))

    def close(self) -> None:
        """Note it."""
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self.closed

    def pause_reading(self) -> None:
        """The test feeds what it likes."""

    resume_reading = pause_reading

    def get_write_buffer_size(self) -> int:
        """Everything is sent at once."""
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Everything is sent at once."""


def connection(app: Any = echo, bounds: Bounds = _BOUNDS) -> Connection:
    """A connection without a socket, on the running loop."""
    config = uvicorn.Config(app, loop="none", http="httptools", ws="none", lifespan="off", log_config=None)
    config.load()
    shared = Shared(
        bounds=bounds,
        clock=lambda: NOW_MS,
        bodies=Places("bodies", bounds.bodies, bounds.address_bodies),
        answers=Places("answers", bounds.answers, bounds.address_answers),
        requests=Places("connections", 1, 1),
        unread={},
        turns=Turns(asyncio.get_running_loop(), bounds.turn_s, lambda address: False),
        scheme="http",
    )
    return Connection(config=config, server_state=ServerState(), app_state={}, shared=shared)


def listener(bounds: Bounds = _BOUNDS, make: Callable[[], asyncio.Protocol] = asyncio.Protocol) -> Listener:
    """A listener without a socket."""
    return Listener(
        name="api",
        bounds=bounds,
        of_address=Places("connections", 100, 100),
        places=Places("connections", bounds.connections, 1_000),
        lobby=Places("lobby", 2, 2),
        make=make,
        turned_away=None,
    )


async def answered(pieces: Iterable[bytes], app: Any = echo, bounds: Bounds = _BOUNDS) -> bytes:
    """What a connection answers to these pieces; the application runs as far as it can after each."""
    ours, written = connection(app, bounds), Written()
    entrance = Entrance(listener(make=lambda: ours))
    written.set_protocol(entrance)
    entrance.connection_made(written)
    for piece in pieces:
        entrance.data_received(piece)
        await asyncio.sleep(0)
    for _ in range(len(written.pieces) + 100):
        await asyncio.sleep(0)
    entrance.connection_lost(None)
    return b"".join(written.pieces)
