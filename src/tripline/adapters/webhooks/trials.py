"""One trial request to a customer's server for a person to see: a connection of its own, and the beginning of the
answer.

Not here: the permitted addresses (`addresses.py`), regular requests (`sender.py`).
"""

import asyncio
from typing import Final

from tripline.adapters.webhooks.answers import Answer, GarbageError
from tripline.ports.webhooks import WebhookFailedError, WebhookReply, WebhookUnansweredError

START_MAX: Final = 1_000
"""Bytes of an answer's body that are shown."""
BODY_S: Final = 1.0
"""Timeout for these bytes after the status line."""
_MS: Final = 1_000


class LostError(Exception):
    """The connection ended before a status line."""


class _WatchedAnswer(Answer):
    """An answer that stores the beginning of its body."""

    def __init__(self) -> None:
        super().__init__()
        self.start = b""

    def on_body(self, part: bytes) -> None:
        """llhttp: some of the body."""
        self.start = (self.start + part)[:START_MAX]

    @property
    def is_seen(self) -> bool:
        """True once the visible part is complete."""
        return self.reusable or self.hopeless or len(self.start) == START_MAX


class Trial(asyncio.Protocol):
    """A connection that carries one request."""

    def __init__(self) -> None:
        self._answer = _WatchedAnswer()
        self._silent = True
        self._transport: asyncio.Transport | None = None
        loop = asyncio.get_running_loop()
        self._status: asyncio.Future[int] = loop.create_future()
        self._seen: asyncio.Future[None] = loop.create_future()

    async def reply(self, request: bytes, *, timeout_s: float) -> WebhookReply:
        """Send the request, return the server's answer and close the connection.

        Raises `WebhookFailedError`, `GarbageError` or `LostError`.
        """
        loop = asyncio.get_running_loop()
        assert self._transport is not None
        begun_s = loop.time()
        try:
            self._transport.write(request)
            status = await self._status_within(timeout_s)
            took_ms = round((loop.time() - begun_s) * _MS)
            await asyncio.wait([self._seen], timeout=BODY_S)
            return WebhookReply(status, took_ms, self._answer.start)
        finally:
            self._transport.abort()

    async def _status_within(self, timeout_s: float) -> int:
        try:
            async with asyncio.timeout(timeout_s):
                return await self._status
        except TimeoutError:
            assert self._transport is not None
            if self._silent and self._transport.get_write_buffer_size() == 0:
                raise WebhookUnansweredError from None
            raise WebhookFailedError("No status line came in time.") from None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio: the connection is established, with TLS if used."""
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """asyncio: bytes came."""
        self._silent = False
        try:
            self._answer.feed(data)
        except GarbageError as garbage:
            self._fail(garbage)
            return
        if self._answer.status is not None and not self._status.done():
            self._status.set_result(self._answer.status)
        if self._answer.is_seen and not self._seen.done():
            self._seen.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio: it is over."""
        self._fail(LostError())
        if not self._seen.done():
            self._seen.set_result(None)

    def _fail(self, trouble: Exception) -> None:
        if not self._status.done():
            self._status.set_exception(trouble)
            self._status.exception()  # retrieve it: the waiting task may be gone
