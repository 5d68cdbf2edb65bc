"""A TCP relay on loopback before a server, whose network can be lost: in silence, or with refusals."""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import Any
from urllib.parse import urlsplit

PATIENCE_S = 10


class Relay:
    """Passes bytes on, in both directions, on the loop of a thread of its own."""

    def __init__(self, upstream: str) -> None:
        self._upstream = urlsplit(upstream).netloc.rpartition(":")
        self._loop = asyncio.new_event_loop()
        self._flows = asyncio.Event()
        self._pairs: dict[asyncio.Task[Any], bytes] = {}
        """Open connections, with the last piece that the client of each sent."""
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def address(self) -> str:
        """Where it stands for the server."""
        return f"http://127.0.0.1:{self._port}"

    def waiting_for(self, path: str) -> int:
        """Connections that neither side has closed, whose last request was for this path."""
        return sum(sent.startswith(b"GET %b " % path.encode()) for sent in list(self._pairs.values()))

    def lose_silently(self) -> None:
        """Pass nothing on, in either direction; accept connections and close none. Nobody is told."""
        self._do(self._hold())

    def refuse(self) -> None:
        """Break every connection, and refuse new ones."""
        self._do(self._close())

    def restore(self) -> None:
        """Pass on what waited, and accept connections."""
        self._do(self._open())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    async def _hold(self) -> None:
        self._flows.clear()

    async def _open(self) -> None:
        self._flows.set()
        if self._server is None:
            self._server = await asyncio.start_server(self._join, "127.0.0.1", self._port)
            self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        broken = list(self._pairs)
        for each in broken:
            each.cancel()
        await asyncio.gather(*broken)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._pairs[task] = b""
        writers = [writer]
        try:
            host, _, port = self._upstream
            beyond, to_server = await asyncio.open_connection(host, int(port))
            writers.append(to_server)
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._pass(reader, to_server, asked_by=task))
                ways.create_task(self._pass(beyond, writer))
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            for each in writers:
                each.transport.abort()
            del self._pairs[task]

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked_by: asyncio.Task[Any] | None = None
    ) -> None:
        """Pass on pieces until one side is gone, which ends both ways."""
        while piece := await reader.read(65_536):
            await self._flows.wait()
            if asked_by is not None:
                self._pairs[asked_by] = piece
            writer.write(piece)
            await writer.drain()
        await self._flows.wait()
        raise ConnectionResetError


@contextlib.contextmanager
def relayed(upstream: str) -> Iterator[Relay]:
    """A relay before this address, until the end of the `with` block."""
    relay = Relay(upstream)
    loop = relay._loop
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        relay.restore()
        yield relay
    finally:
        relay.refuse()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_S)
        loop.close()
