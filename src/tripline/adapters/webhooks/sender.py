"""Requests to customers' servers over HTTP/1.1: `ports.webhooks.WebhookSender` (spec/push 3; `docs/decisions/440`).

The status line is the answer and ends the request; a 429 or 503 has `LINGER_S` more for its headers, which may include
`Retry-After`. The connection reads the rest of the answer for a moment, without a task: a server that ends its answers
gets its next request on the same connection; others are disconnected. Connections to unresponsive servers listen in the
same way after their request counts as sent. No exception from here names an address.
"""

import asyncio
import contextlib
import os
import re
import ssl
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from tripline.adapters.webhooks import targets
from tripline.adapters.webhooks.addresses import AddressGuard
from tripline.adapters.webhooks.answers import Answer, GarbageError
from tripline.adapters.webhooks.targets import Target
from tripline.ports.webhooks import (
    Answered,
    Listening,
    Webhook,
    WebhookFailedError,
    WebhookReply,
    WebhookUnansweredError,
)

LINGER_S: Final = 1.0
"""How long the rest of an answer may take to come if the connection is to carry another request."""
IDLE_S: Final = 15.0
"""How long a connection waits for another request; servers usually hang up after some more."""
KEPT_PER_TARGET: Final = 16
"""Connections to one server that wait or linger."""
KEPT: Final = 512
"""Connections to all servers that wait or linger."""
LISTENING_PER_TARGET: Final = 160
"""Connections to one server that listen for an answer after their request counts as sent: eight lanes for 5 s."""
LISTENING: Final = 1_024
"""The same to all servers; at either bound the one that has listened longest is closed."""
SHOWN_S: Final = 1.0
"""How long the beginning of a body that is shown may take to come after its status line."""
_MS: Final = 1_000
_FORBIDDEN: Final = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
_COMMON: Final = "User-Agent: Tripline\r\nAccept-Encoding: identity\r\n"

_Key = tuple[bool, str, int]
C = TypeVar("C", bound="_Connection")

_EXPIRED: Final = 10
"""OpenSSL's `X509_V_ERR_CERT_HAS_EXPIRED`."""
_UNTRUSTED: Final = frozenset({18, 19, 20, 21})
"""OpenSSL's `X509_V_ERR_` codes for a certificate whose chain ends in no trusted authority."""


class _LostError(Exception):
    """The connection ended before a status line; `silent`: and before any byte of an answer."""

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent


class HttpWebhooks:
    """Implements `ports.webhooks.WebhookSender`. Close it at the end."""

    def __init__(self, *, timeout_s: float, guard: AddressGuard, tls: ssl.SSLContext | None = None) -> None:
        self._timeout_s = timeout_s
        self._guard = guard
        self._tls = tls
        self._kept = _IdleConnections(per_target=KEPT_PER_TARGET, total=KEPT)
        self._listening = _IdleConnections(per_target=LISTENING_PER_TARGET, total=LISTENING)
        self._open: set[_Connection] = set()

    async def post(self, webhook: Webhook, listening: Listening | None = None) -> Answered | None:
        """The answer; None when the connection listens on. Raises `WebhookFailedError`.

        Connecting may take the time-out, and so may the answer.
        """
        target = targets.target(webhook.url)
        request = _request(target, webhook)
        with _failures():
            return await self._asked(target, request, listening)

    async def ask(self, webhook: Webhook) -> WebhookReply:
        """Send a trial request on a separate connection and return the answer. Raises as `post`; takes at most a second
        more."""
        target = targets.target(webhook.url)
        request = _request(target, replace(webhook, headers=(*webhook.headers, ("Connection", "close"))))
        key, alone = (target.tls, target.host, target.port), _IdleConnections(per_target=1, total=1)
        with _failures():
            async with asyncio.timeout(self._timeout_s):
                connection = await self._connected(target, partial(_ShownConnection, key, alone, self._open))
            begun_s = asyncio.get_running_loop().time()
            try:
                await self._answer(connection, request, None)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SHOWN_S):
                        await connection.seen.wait()
                return connection.reply(begun_s)
            finally:
                connection.abort()

    async def close(self) -> None:
        for connection in list(self._open):
            connection.abort()

    async def _asked(self, target: Target, request: bytes, listening: Listening | None) -> Answered | None:
        key = (target.tls, target.host, target.port)
        kept = self._kept.take(key)
        if kept is not None:
            try:
                return await self._answer(kept, request, listening)
            except _LostError as lost:
                if not lost.silent:
                    raise
                # The server closed the waiting connection at that moment; it may have read the request all the same,
                # and receives it again under the same webhook-id.
            except WebhookUnansweredError:
                # A network may have forgotten connections that waited: the next request goes on a new one.
                self._kept.close(key)
                raise
        async with asyncio.timeout(self._timeout_s):
            connection = await self._connected(target, partial(_Connection, key, self._kept, self._open))
        return await self._answer(connection, request, listening)

    async def _answer(self, connection: "_Connection", request: bytes, listening: Listening | None) -> Answered | None:
        """The answer, or None when the connection listens on."""
        loop = asyncio.get_running_loop()
        end_s = loop.time() + self._timeout_s
        answer = connection.ask(request)
        listens = False
        try:
            while listening is not None and connection.silent and not answer.done() and loop.time() < end_s:
                await asyncio.wait([answer], timeout=min(listening.place_s, end_s - loop.time()))
                listens = not answer.done() and connection.silent and connection.written
                if listens:
                    self._listen(connection, answer, listening, until_s=end_s)
                    return None
            async with asyncio.timeout_at(end_s):
                return await answer
        except TimeoutError:
            if connection.answered is not None:
                return connection.answered
            if connection.silent and connection.written:
                raise WebhookUnansweredError from None
            raise WebhookFailedError("No status line came in time.") from None
        finally:
            if not listens and (answer.cancelled() or not answer.done()):
                answer.cancel()
                connection.abort()

    def _listen(
        self, connection: "_Connection", answer: asyncio.Future[Answered], listening: Listening, *, until_s: float
    ) -> None:
        """Leave the connection to itself: it reports a late status to `listening`, and closes when its time is over."""

        def ended(answer: asyncio.Future[Answered]) -> None:
            self._listening.forget(connection)
            if not answer.cancelled() and answer.exception() is None:
                listening.heard(answer.result())

        answer.add_done_callback(ended)
        connection.hang_up_at(until_s)
        self._listening.put(connection)

    async def _connected(self, target: Target, make: Callable[[], C]) -> C:
        loop = asyncio.get_running_loop()
        end_s = loop.time() + self._timeout_s
        trouble: OSError | None = None
        addresses = await self._guard.addresses(target.host)
        tls = await self._trusted() if target.tls else None
        for address in addresses:
            try:
                # If a network drops packets to one address, half of the time remains for the others.
                async with asyncio.timeout(None if address == addresses[-1] else (end_s - loop.time()) / 2):
                    _, connection = await loop.create_connection(
                        make, address, target.port, ssl=tls, server_hostname=target.host if target.tls else None
                    )
            except ssl.SSLError:
                raise
            except OSError as error:
                trouble = error
            else:
                return connection
        assert trouble is not None
        raise trouble

    async def _trusted(self) -> ssl.SSLContext:
        """The context that verifies servers' certificates. Reading the system's authorities takes 30 ms, so it
        is made for the first request that needs it, on a thread."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        return self._tls


class _IdleConnections:
    """Idle connections, within bounds: reusable ones, or listening ones."""

    def __init__(self, *, per_target: int, total: int) -> None:
        self._per_target = per_target
        self._total = total
        self._waiting: dict[_Key, OrderedDict[_Connection, None]] = {}
        self._all: OrderedDict[_Connection, None] = OrderedDict()

    def take(self, key: _Key) -> "_Connection | None":
        """The connection that began to wait last, no longer kept."""
        for connection in reversed(self._waiting.get(key, ())):
            if connection.waits:
                self.forget(connection)
                connection.wake()
                return connection
        return None

    def put(self, connection: "_Connection") -> None:
        """Keep it; at the bounds the longest kept one is closed instead."""
        same = self._waiting.setdefault(connection.key, OrderedDict())
        same[connection] = self._all[connection] = None
        if len(same) > self._per_target:
            self._close(next(iter(same)))
        if len(self._all) > self._total:
            self._close(next(iter(self._all)))

    def close(self, key: _Key) -> None:
        for connection in list(self._waiting.get(key, ())):
            self._close(connection)

    def _close(self, connection: "_Connection") -> None:
        self.forget(connection)
        connection.abort()

    def forget(self, connection: "_Connection") -> None:
        """It is in use, or gone."""
        if connection in self._all:
            del self._all[connection]
            same = self._waiting[connection.key]
            del same[connection]
            if not same:
                del self._waiting[connection.key]


class _Connection(asyncio.Protocol):
    """One connection: sending a request, reading the rest of the answer, waiting for the next request."""

    def __init__(self, key: _Key, kept: _IdleConnections, alive: "set[_Connection]") -> None:
        self.key = key
        self.waits = False
        """True if it can take a request at once."""
        self._kept = kept
        self._alive = alive
        self._answer = Answer()
        self.silent = True
        """No byte of an answer has arrived."""
        self._asked: asyncio.Future[Answered] | None = None
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def written(self) -> bool:
        """True once the operating system has taken the whole request."""
        return self._transport is not None and self._transport.get_write_buffer_size() == 0

    @property
    def answered(self) -> Answered | None:
        """The answer, or None before its status has arrived."""
        status = self._answer.status
        return None if status is None else Answered(status, self._answer.retry_after)

    def ask(self, request: bytes) -> asyncio.Future[Answered]:
        """The answer, or `_LostError` or `GarbageError`. Raises `_LostError`."""
        if self._transport is None or self._transport.is_closing():
            raise _LostError(silent=True)
        self._answer, self.silent = Answer(), True
        self._asked = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._asked

    def hang_up_at(self, at_s: float) -> None:
        """Hang up at this time of the event loop, unless an answer comes before."""
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_at(at_s, self.abort)

    def wake(self) -> None:
        self.waits = False
        self._stop_timer()

    def abort(self) -> None:
        self._end()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self._transport = transport  # type: ignore[assignment]
        self._alive.add(self)

    def data_received(self, data: bytes) -> None:
        if self.waits:
            self.abort()  # nobody asked
            return
        self.silent = False
        try:
            self._answer.feed(data)
        except GarbageError as garbage:
            self._tell(garbage)
            self.abort()
            return
        if self.answered is None:
            return
        if not self._answer.decided:
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(LINGER_S, self.abort)
            return
        told = self._tell(self.answered)
        if self._answer.hopeless:
            self.abort()
        elif self._answer.reusable:
            self._keep(IDLE_S, waits=True)
        elif told:
            self._keep(LINGER_S)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        self._tell(self.answered or _LostError(silent=self.silent))

    def _end(self) -> None:
        self.waits = False
        self._stop_timer()
        self._kept.forget(self)
        self._alive.discard(self)

    def _tell(self, news: Answered | Exception) -> bool:
        """Pass the result to the waiting request; true if there was one."""
        asked, self._asked = self._asked, None
        if asked is None or asked.done():
            return False
        if isinstance(news, Exception):
            asked.set_exception(news)
        else:
            asked.set_result(news)
        return True

    def _keep(self, for_s: float, *, waits: bool = False) -> None:
        self._stop_timer()
        self.waits = waits
        self._timer = asyncio.get_running_loop().call_later(for_s, self.abort)
        self._kept.put(self)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _ShownConnection(_Connection):
    """A connection for one request, whose answer is shown."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.seen = asyncio.Event()
        """Set once the visible part of the answer is complete."""
        self._answered_s = 0.0

    def reply(self, begun_s: float) -> WebhookReply:
        """The answer so far to a request that was sent at `begun_s`."""
        assert self._answer.status is not None
        return WebhookReply(self._answer.status, round((self._answered_s - begun_s) * _MS), self._answer.start)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answer.status is not None and not self._answered_s:
            self._answered_s = asyncio.get_running_loop().time()
        if self._answer.is_seen:
            self.seen.set()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.seen.set()


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Convert any failure of a request to `WebhookFailedError`."""
    try:
        yield
    except TimeoutError:
        raise WebhookFailedError("The connection took too long.") from None
    except GarbageError:
        raise WebhookFailedError("The answer is not HTTP.") from None
    except _LostError:
        raise WebhookFailedError("The connection ended before a status line.") from None
    except ssl.SSLCertVerificationError as error:
        raise refused(error) from None
    except ssl.SSLError as error:
        raise WebhookFailedError(f"TLS failed: {error.reason or 'unknown'}.") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else type(error).__name__
        raise WebhookFailedError(f"The connection failed: {reason}.") from None


def _request(target: Target, webhook: Webhook) -> bytes:
    """The bytes of the request. Raises `WebhookFailedError` when a header would be more than one."""
    head = [f"POST {target.path} HTTP/1.1\r\nHost: {target.host_header}\r\n{_COMMON}"]
    for name, value in webhook.headers:
        if _FORBIDDEN.search(name + value):
            raise WebhookFailedError("A header of the request cannot be sent.")
        head.append(f"{name}: {value}\r\n")
    head.append(f"Content-Length: {len(webhook.body)}\r\n\r\n")
    return "".join(head).encode("latin-1") + webhook.body


def refused(error: ssl.SSLCertVerificationError) -> WebhookFailedError:
    """The failure with its reason."""
    if error.verify_code == _EXPIRED:
        return WebhookFailedError("The server's certificate has expired.")
    if error.verify_code in _UNTRUSTED:
        return WebhookFailedError("The server's certificate was issued by an untrusted authority.")
    return WebhookFailedError("The server's certificate is not valid for its name.")
