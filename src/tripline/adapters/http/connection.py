"""One HTTP connection: uvicorn's over httptools, with bounds on the bytes that its peer may send, hold and leave
unread.

httptools buffers everything before and around a body and reports only whole headers. So this counts all bytes as they
are read and subtracts those in bodies. A request that arrives in one piece, as nearly all do, needs no timer.
"""

import asyncio
import functools
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tripline.adapters.http.bounds import Bounds, met
from tripline.adapters.http.entrance import place_of
from tripline.adapters.http.outlet import Outlet
from tripline.adapters.http.places import Place, Places
from tripline.adapters.http.refusals import BUSY, MANY_HEADERS, NOT_HTTP, SMALL_CHUNKS, TOO_BUSY, TOO_LONG, Refusal
from tripline.adapters.http.turns import Slices, Turns
from tripline.wire import addresses
from tripline.wire.rest.base import CAME_WHOLE, KEPT_ELSEWHERE

START_S: Final = 0.0002
"""Time that a request takes in the turn after it began, at least."""
CHUNK_BYTES: Final = 16
"""Bytes around a chunk's data that are not counted."""
_WHOLE: Final[dict[str, dict[object, object]]] = {CAME_WHOLE: {}}

Headers: TypeAlias = list[tuple[bytes, bytes]]
"""Names in lower case."""


class Shared(msgspec.Struct, kw_only=True):
    """State that all connections of a process share: bounds, and who holds how much of them."""

    bounds: Bounds
    clock: Callable[[], int]
    bodies: Places
    """Bytes of bodies in memory; unfinished ones can give way."""
    answers: Places
    """Bytes of long answers that are not read."""
    requests: Places
    """Requests of forwarded addresses."""
    unread: dict[Outlet, None]
    turns: Turns
    scheme: str


class _StopError(Exception):
    """Ends the reading from within the parser."""


class Connection(HttpToolsProtocol):
    """One peer."""

    def __init__(self, *args: Any, shared: Shared, **more: Any) -> None:
        super().__init__(*args, **more)
        self._shared = shared
        self._bounds = shared.bounds
        self._peer = self._address = addresses.UNKNOWN
        """The peer's own address, and the one that the latest request was forwarded for."""
        self._refusal: Refusal | None = None
        self._deaf = False
        """True if all further bytes are discarded."""
        self._around = 0
        """Bytes of the latest request outside its body, less `CHUNK_BYTES` for each chunk."""
        self._trailers = self._trailers_came = 0
        """Bytes and number of trailers."""
        self._chunks = 0
        self._thrown = 0
        self._behind = False
        """The latest request began in the piece of the one before, so not all bytes around it were counted."""
        self._bodies: Place | None = None
        """Bodies in memory."""
        self._came = 0
        """Bytes of the latest body."""
        self._elsewhere = False
        self._in_head = False
        self._head_came = False
        """The head of the latest request ended in the current piece."""
        self._own = False
        """The latest cycle belongs to the request that is read now."""
        self._offers = False
        """The head that was just read offers another protocol."""
        self._waiting = True
        self._began = self._heard = 0.0
        """When the latest request began, and when the latest byte of its body came."""
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        shared = self._shared
        peer = transport.get_extra_info("peername")
        self._peer = self._address = addresses.form(peer[0]) if peer else addresses.UNKNOWN
        self._place = place_of(transport)
        """Rests while no whole request is under way."""
        self._outlet = Outlet(transport, self._peer, shared.answers, shared.unread, self.loop.time)
        super().connection_made(self._outlet)
        self._slices = Slices(shared.turns, self._outlet, self.flow, self._read)
        self.scheme = shared.scheme  # type: ignore[assignment]
        self._began = self.loop.time()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._waiting = False
        self._watch()
        self._unset_keepalive_if_required()
        self._forget_bodies()
        self._outlet.lost()
        super().connection_lost(exc)
        # Closed connections are reference cycles, which the garbage collector frees late: release large objects now.
        for cycle, _ in self.pipeline:
            cycle.body.clear()
        self.pipeline.clear()
        self._slices.clear()
        if self.cycle is not None:
            self.cycle.body.clear()
        self.headers = []
        self.url = b""

    def resume_writing(self) -> None:
        self._outlet.drained()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Read it when it is this connection's turn."""
        self._slices.add(self._address, data)

    def _read(self, data: bytes) -> None:
        if self._deaf:
            self._throw_away(len(data))
        else:
            self._feed(data)

    def _feed(self, data: bytes) -> None:
        """Feed the parser, then check how much of the request is missing."""
        self._head_came = self._behind = False
        self._around = max(self._around, 0) + len(data)
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self._refuse(self._refusal or Refusal(400, NOT_HTTP))
        else:
            if self._waiting and not self._behind and self._around > self._bounds.head_bytes:
                self._refuse(Refusal(400, TOO_LONG))
        if self._head_came and self._waiting:
            self.scope["extensions"] = {KEPT_ELSEWHERE: {"tell": self._kept_elsewhere}}
        if self._waiting is (self._deadline is None):
            self._watch()

    def _parse(self, data: bytes) -> None:
        """Feed the parser, which ends a request at its head where that offers another protocol: we accept none, so
        another parser gets the head without the offer, and everything behind it (RFC 9110 7.8)."""
        rest = memoryview(data)
        while rest:
            try:
                self.parser.feed_data(rest)
            except httptools.HttpParserUpgrade as upgrade:
                if not self._offers:  # CONNECT
                    self._last(self.cycle)
                    return
                rest = rest[upgrade.args[0] :]
                head = without_offer(self.parser, self.url, self.headers)
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                self.parser.feed_data(head)
            else:
                return

    def on_message_begin(self) -> None:
        if self._offers:
            self._offers, self._in_head = False, True
            super().on_message_begin()
            return
        self._unset_keepalive_if_required()
        self._behind = not self._waiting and self._head_came
        if self._behind:
            self._around = 0
        self._waiting = self._in_head = True
        self._own = self._elsewhere = False
        self._trailers = self._trailers_came = self._chunks = self._came = 0
        self._began = self.loop.time()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Process a header; trailers are only counted."""
        if self._in_head:
            super().on_header(name, value)
            if len(self.headers) > self._bounds.headers:
                self._stop(400, MANY_HEADERS)
            return
        self._trailers += len(name) + len(value) + 4
        self._trailers_came += 1
        if self._trailers > self._bounds.head_bytes:
            self._stop(400, TOO_LONG)
        if self._trailers_came > self._bounds.headers:
            self._stop(400, MANY_HEADERS)

    def on_headers_complete(self) -> None:
        """Check the complete head; start the request."""
        bounds = self._bounds
        uncertain = self._around > bounds.head_bytes or self._behind
        if uncertain and size_of(self.parser, self.url, self.headers) > bounds.head_bytes:
            self._stop(400, TOO_LONG)
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._offers = True
            return
        if len(self.pipeline) >= bounds.ahead:
            met("requests_ahead", limit=bounds.ahead, address=self._address)
            self._stop(503, BUSY)
        if bounds.behind_proxy:
            self._forget_bodies()
            self._address = forwarded_for(self.headers) or self._peer
        self._in_head = False
        self._head_came = self._own = True
        self._heard = self.loop.time()
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        self._around -= CHUNK_BYTES
        self._chunks += 1
        more = self._chunks - self._bounds.chunks
        if more > 0 and more * self._bounds.chunk_bytes > self._came:
            self._stop(400, SMALL_CHUNKS)

    def on_body(self, body: bytes) -> None:
        size = len(body)
        self._around -= size
        self._came += size
        self._heard = self.loop.time()
        if self.cycle.response_complete:
            self._thrown += size
            if self._thrown > self._bounds.linger_bytes:
                self._stop(503, BUSY)
            return
        if not (self._elsewhere or self._hold_body(size)):
            self._stop(503, BUSY)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._offers:
            return
        self._waiting = False
        if not self._behind and self._trailers and self._around > self._bounds.head_bytes:
            self._stop(400, TOO_LONG)
        self._around = 0
        if self._head_came:
            self.scope["extensions"] = _WHOLE
        super().on_message_complete()
        if not self.cycle.response_complete:
            self._place.work()
            if self._bodies is not None:
                self._bodies.keep()
        if not self.cycle.keep_alive:
            self._deaf = True
        elif self.cycle.response_complete:
            self._rest()

    def on_response_complete(self) -> None:
        self._outlet.sent()
        if not self.pipeline:
            self._forget_bodies()
        if len(self.pipeline) == (self._waiting and self._own):
            self._place.rest()
        super().on_response_complete()
        if self.timeout_keep_alive_task is not None:
            self._rest()

    def send_400_response(self, msg: str) -> None:
        """uvicorn's own refusals, in our words."""
        self._refuse(Refusal(400, NOT_HTTP))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        start = functools.partial(super()._start_asgi_task, cycle, functools.partial(self._serve, app, cycle))
        self._shared.turns.take(self._address, start, costs_s=START_S)

    def _rest(self) -> None:
        """Wait for the next request, or for the end of one that is answered already."""
        self._unset_keepalive_if_required()
        later = self._bounds.linger_s if self._waiting else self._bounds.idle_s
        self.timeout_keep_alive_task = self.loop.call_later(later, self.timeout_keep_alive_handler)

    async def _serve(self, app: Any, cycle: RequestResponseCycle, scope: Any, receive: Any, send: Any) -> None:
        """Call the application, unless the request was refused meanwhile or its sender has too many under way."""
        if cycle.disconnected:
            return
        if not self._bounds.behind_proxy:
            await app(scope, receive, functools.partial(self._send, [True], self._peer, send))
            return
        address = forwarded_for(scope["headers"]) or self._peer
        request = self._shared.requests.take(address)
        if request is None:
            await TOO_BUSY.send(send, self._shared.clock())
            return
        self._place.move(address)
        self._place.work()
        try:
            await app(scope, receive, functools.partial(self._send, [True], address, send))
        finally:
            request.leave()
            self._place.move(self._peer)
            self._place.rest()

    async def _send(self, sends: list[bool], address: str, send: Any, message: Any) -> None:
        """Send, if there is room for the answer until its peer has read it; if not, 503 instead."""
        if message["type"] == "http.response.start":
            self._outlet.begin()
            size = length_of(message["headers"])
            if size > self._bounds.short_answer and not self._outlet.hold(address, size):
                sends[0] = False
                await TOO_BUSY.send(send, self._shared.clock())
        if sends[0]:
            await send(message)

    def _kept_elsewhere(self) -> None:
        self._elsewhere = True
        self._forget_bodies()

    def _hold_body(self, size: int) -> bool:
        """Have room for a piece of the body until the request is answered; while it arrives, it can give way."""
        if self._bodies is None:
            self._bodies = self._shared.bodies.take(self._address, size, self._give_up)
            return self._bodies is not None
        if self._came == size:
            self._bodies.rest()
        return self._bodies.grow(size)

    def _give_up(self, gently: bool) -> bool:
        """Refuse the request whose body arrives, to make room for others."""
        self.cycle.body.clear()
        self._refuse(TOO_BUSY)
        return True

    def _forget_bodies(self) -> None:
        if self._bodies is not None:
            self._bodies.leave()
            self._bodies = None

    def _stop(self, status: int, message: str) -> None:
        """End the reading from within the parser, which turns any exception into one of its own.

        A stored exception would keep the bytes in its frames in memory until the connection closes.
        """
        self._refusal = Refusal(status, message)
        raise _StopError

    def _refuse(self, refused: Refusal) -> None:
        """Answer a request that never reaches the application, and close; finish an answer that has begun first."""
        self._waiting = self._in_head = False
        self._deaf = True
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not self._own:
                self._last(cycle)
                return
            if self.pipeline or cycle.response_started:
                self.transport.close()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.write(refused.answer(self._shared.clock()))
        self.transport.close()

    def _last(self, cycle: RequestResponseCycle | None) -> None:
        """Close after this answer, and hear nothing more."""
        self._deaf = True
        self._waiting = False
        if cycle is None or cycle.response_complete:
            self.transport.close()
        else:
            cycle.keep_alive = False

    def _throw_away(self, size: int) -> None:
        self._thrown += size
        if self._thrown > self._bounds.deaf_bytes:
            self._outlet.abort()

    def _watch(self) -> None:
        """Start or end the deadline, as a request is awaited or not."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self._waiting:
            self._deadline = self.loop.call_later(min(self._bounds.request_s, self._bounds.quiet_s), self._late)

    def _late(self) -> None:
        """Close, unless the request came fast enough, or waits for us."""
        now, bounds = self.loop.time(), self._bounds
        left = self._began + bounds.request_s + self._came / bounds.body_rate - now
        if self._own and not self._elsewhere:
            left = min(left, self._heard + bounds.quiet_s - now)
        if self.flow.read_paused or self._slices:
            left = max(left, 1.0)
        if left > 0:
            self._deadline = self.loop.call_later(left, self._late)
        else:
            self.transport.close()


def size_of(parser: Any, url: bytes, headers: Headers) -> int:
    """Bytes of the head that the parser has read: request line and headers."""
    line = len(parser.get_method()) + len(url) + len(parser.get_http_version()) + 11
    return line + sum(len(name) + len(value) + 4 for name, value in headers)


def without_offer(parser: Any, url: bytes, headers: Headers) -> bytes:
    """The head that the parser has read, without `Upgrade`."""
    line = b"%b %b HTTP/%b" % (parser.get_method(), url, parser.get_http_version().encode())
    lines = [b"%b: %b" % header for header in headers if header[0] != b"upgrade"]
    return b"\r\n".join([line, *lines, b"", b""])


def forwarded_for(headers: Headers) -> str | None:
    """The address that the proxy names as the sender of the request."""
    for name, value in reversed(headers):
        if name == addresses.FORWARDED.encode():
            return addresses.forwarded(value.decode("latin-1"))
    return None


def length_of(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """The announced length of a body; 0 without one."""
    return next((int(value) for name, value in headers if name == b"content-length"), 0)
