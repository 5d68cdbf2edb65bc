"""TLS between a socket and a connection: an `ssl.SSLObject` over two memory buffers.

The connection sees a transport like any other. What sets it apart from the event loop's own TLS: no buffer of its own
for each connection, no exception to learn that nothing more is there, one call into OpenSSL and one write each way.

Not here: certificates and the context (`adapters/tls_local.py`), what is done with the bytes (`connection.py`).
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any, Final, cast

RECORD: Final = 16_384
"""The largest plain text of one TLS record (RFC 8446 5.1)."""


class TlsShell(asyncio.Protocol, asyncio.Transport):
    """The protocol of a socket's transport, and the transport of the connection within.

    The connection is made once the handshake is done, and never hears of one that failed. A handshake takes at most
    `handshake_s`, a close waits at most `shutdown_s` for the other side.
    """

    __slots__ = ("_closing", "_established", "_incoming", "_inner", "_make", "_outgoing", "_shutdown_s", "_timer",
                 "_tls", "_transport")  # fmt: skip

    def __init__(
        self, context: ssl.SSLContext, make: Callable[[], asyncio.Protocol], *, handshake_s: float, shutdown_s: float
    ) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._inner = make()
        self._shutdown_s = shutdown_s
        self._established = False
        self._closing = False
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = asyncio.get_running_loop().call_later(handshake_s, self.abort)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open; the client speaks first."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes of the wire came: whole records go to the connection, in one piece."""
        if self._closing:
            return
        self._incoming.write(data)
        try:
            if not self._established and not self._shake_hands():
                return
            plain = self._plain()
        except ssl.SSLError:
            self._give_up()
            return
        if self._outgoing.pending:
            self._flush()
        if plain:
            self._inner.data_received(plain)

    def pause_writing(self) -> None:
        """Too much is unsent."""
        if self._established:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        """It was sent after all."""
        if self._established:
            self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        self._transport = None
        self._closing = True
        self._stop_timer()
        if self._established:
            self._inner.connection_lost(exc)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypt and send."""
        if self._transport is not None and not self._closing:
            self._tls.write(data)
            self._transport.write(self._outgoing.read())

    def close(self) -> None:
        """Say goodbye once everything is sent, and wait for the other side: a socket closed with unread bytes would
        take back what was sent."""
        if self._transport is None or self._closing:
            return
        self._closing = True
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        self._flush()
        self._transport.write_eof()
        self._transport.resume_reading()
        self._timer = asyncio.get_running_loop().call_later(self._shutdown_s, self.abort)

    def abort(self) -> None:
        """Close at once."""
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def is_closing(self) -> bool:
        """Whether `close` or `abort` was called, or the socket is closed."""
        return self._closing

    def pause_reading(self) -> None:
        """Leave what arrives in the socket."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on."""
        if self._transport is not None:
            self._transport.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """How many unsent bytes are too much."""
        if self._transport is not None:
            self._transport.set_write_buffer_limits(high=high, low=low)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What the socket's transport knows."""
        return default if self._transport is None else self._transport.get_extra_info(name, default)

    def _shake_hands(self) -> bool:
        """One more step of the handshake; whether it is done."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        self._flush()
        self._stop_timer()
        self._established = True
        self._inner.connection_made(self)
        return True

    def _plain(self) -> bytes:
        """What the records that are here say. A part of a record costs an exception, nothing else does."""
        pieces: list[bytes] = []
        incoming, read = self._incoming, self._tls.read
        try:
            while incoming.pending:
                piece = read(RECORD)
                if not piece:  # The client said goodbye.
                    self.close()
                    break
                pieces.append(piece)
        except ssl.SSLWantReadError:
            pass
        return b"".join(pieces)

    def _flush(self) -> None:
        if self._transport is not None and self._outgoing.pending:
            self._transport.write(self._outgoing.read())

    def _give_up(self) -> None:
        """The client breaks TLS: send the alert, close."""
        self._closing = True
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
