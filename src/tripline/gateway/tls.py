"""TLS between a socket and a connection: an `ssl.SSLObject` over two memory buffers.

The connection sees a transport like any other. Differences from the event loop's own TLS: no buffer for each
connection, no exception to detect the end of the data, one call into OpenSSL and one write each way.
The two buffers belong to the listener, not the connection: each step empties them before it ends.

Not here: certificates and the context (`adapters/tls/local.py`), processing of the plain bytes (`connection.py`).
"""

import asyncio
import contextlib
import ssl
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

from tripline import metrics, observe
from tripline.gateway.newcomers import address_of
from tripline.gateway.turns import Turns

RECORD: Final = 16_384
"""The largest plain text of one TLS record (RFC 8446 5.1)."""
MAX_HELLO: Final = 65_536
"""Most bytes that a client may send before our first answer; a hello is a few hundred."""
MAX_CLIENT_HELLO: Final = 16_384
"""Largest ClientHello that may be announced; OpenSSL allocates 128 KiB for nine bytes that announce as much."""
_HANDSHAKE: Final = 22
_RECORDS: Final = range(20, 24)
"""Types of TLS records."""
RETRY: Final = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random of a ServerHello that requests another ClientHello (RFC 8446 4.1.3)."""

_log = observe.logger("gateway")


class TlsListener:
    """State that the connections of a listener share: certificate, time limits, buffers, and the queue of handshakes.

    A handshake takes at most `handshake_s`, not counting the time it waits for its turns; a close waits at most
    `shutdown_s` for the other side. `opened` and `gone` are called with each socket. Make it on the running event loop.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        make: Callable[[], asyncio.Protocol],
        turns: Turns,
        *,
        handshake_s: float,
        shutdown_s: float,
        opened: Callable[[asyncio.Transport], None] = lambda _: None,
        gone: Callable[[asyncio.Transport], None] = lambda _: None,
        of_devices: bool = True,
    ) -> None:
        self.make = make
        self.handshake_s = handshake_s
        self.shutdown_s = shutdown_s
        self.loop = asyncio.get_running_loop()
        self.turns = turns
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.unfinished: OrderedDict[TlsShell, None] = OrderedDict()
        """Sockets with an unfinished handshake, oldest first."""
        self.opened = opened
        self.gone = gone
        self.of_devices = of_devices
        """True to report failed handshakes: failures of HTTP clients do not concern devices."""
        self._context = context

    def begin(self) -> ssl.SSLObject:
        """The server's side of a new TLS session, over the shared buffers."""
        return self._context.wrap_bio(self.incoming, self.outgoing, server_side=True)

    def abort(self) -> None:
        for shell in list(self.unfinished):
            shell.abort()


class TlsShell(asyncio.Protocol, asyncio.Transport):
    """The protocol of a socket's transport, and the transport of the connection within.

    The connection is made after a successful handshake, and never sees a failed one.
    """

    __slots__ = (
        "_address",
        "_closing",
        "_hello",
        "_inner",
        "_left_s",
        "_listener",
        "_missing",
        "_queued",
        "_timer",
        "_tls",
        "_transport",
        "since",
    )

    def __init__(self, listener: TlsListener) -> None:
        self._listener = listener
        self._address = ""
        self.since = listener.loop.time()
        """When the socket was opened."""
        self._tls: ssl.SSLObject | None = None
        self._inner: asyncio.Protocol | None = None
        self._hello = b""
        """Handshake bytes received since its last turn."""
        self._missing: int | None = 0
        """Bytes of a ClientHello still to be received; None: no ClientHello is expected."""
        self._queued = False
        self._closing = False
        self._transport: asyncio.Transport | None = None
        self._left_s = listener.handshake_s
        """Time left for the client's handshake."""
        self._timer: asyncio.TimerHandle | None = listener.loop.call_later(self._left_s, self.abort)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open; the client speaks first."""
        self._transport = cast("asyncio.Transport", transport)
        self._listener.unfinished[self] = None
        self._address = address_of(transport)
        self._listener.opened(self)

    def data_received(self, data: bytes) -> None:
        """Decrypt received bytes and pass the content of whole records to the connection, in one piece."""
        if self._closing:
            return
        if self._inner is None or self._tls is None:
            self._wait(data)
            return
        listener = self._listener
        listener.incoming.write(data)
        try:
            plain = self._plain(self._tls)
        except ssl.SSLError:
            self._give_up()
            return
        if listener.outgoing.pending:
            self._flush()
        if plain:
            self._inner.data_received(plain)

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._closing = True
        self._stop_timer()
        self._listener.unfinished.pop(self, None)
        self._listener.gone(self)
        if self._inner is not None:
            self._listener.turns.wait(partial(self._inner.connection_lost, exc), address=self._address, begun=True)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._transport is not None and not self._closing and self._tls is not None:
            self._tls.write(data)
            self._transport.write(self._listener.outgoing.read())

    def close(self) -> None:
        """Say goodbye once everything is sent, and wait for the other side: closing a socket with unread bytes would
        discard sent data."""
        if self._transport is None or self._closing or self._tls is None:
            return
        self._closing = True
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        self._flush()
        self._transport.write_eof()
        self._transport.resume_reading()
        self._timer = self._listener.loop.call_later(self._listener.shutdown_s, self.abort)

    def abort(self) -> None:
        self._closing = True
        self._listener.unfinished.pop(self, None)
        if self._transport is not None:
            self._transport.abort()

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if self._transport is not None:
            self._transport.set_write_buffer_limits(high=high, low=low)

    def get_write_buffer_size(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default if self._transport is None else self._transport.get_extra_info(name, default)

    def get_protocol(self) -> asyncio.BaseProtocol:
        """The protocol of the socket: this, or one around it."""
        return self if self._transport is None else self._transport.get_protocol()

    def _wait(self, hello: bytes) -> None:
        """Buffer handshake bytes until this connection's turn; waiting does not use up the client's time."""
        self._hello += hello
        if len(self._hello) > MAX_HELLO:
            self.abort()
        elif not self._queued and _whole(self._hello):
            self._queued = True
            if self._timer is not None:
                self._left_s = max(0.0, self._timer.when() - self._listener.loop.time())
            self._stop_timer()
            self._listener.turns.wait(self._turn, address=self._address, begun=self._tls is not None)

    def _turn(self) -> None:
        """Perform one step of the handshake; the last one makes the connection."""
        self._queued = False
        whole = _whole(self._hello)
        hello, self._hello = self._hello[:whole], self._hello[whole:]
        if self._closing:
            return
        if not self._fits(hello):
            self.abort()
            return
        listener = self._listener
        tls = self._tls = self._tls or listener.begin()
        listener.incoming.write(hello)
        try:
            tls.do_handshake()
            listener.incoming.write(self._hello)
            self._hello = b""
            plain = self._plain(tls)
        except ssl.SSLWantReadError:
            if RETRY in self._flush():
                self._missing = 0
            self._timer = listener.loop.call_later(self._left_s, self.abort)
        except ssl.SSLError as error:
            self._say_failed(error)
            self._give_up()
        else:
            self._flush()
            self._enter(plain)

    def _say_failed(self, error: ssl.SSLError) -> None:
        """Count and log the failure; its device is unknown. A client that distrusts our certificate sends an alert."""
        if not self._listener.of_devices:
            return
        metrics.HANDSHAKES_FAILED.inc()
        peer = self.get_extra_info("peername")
        _log.info("device.no_tls", reason=error.reason or "", peer=peer[0] if peer else "")

    def _enter(self, plain: bytes) -> None:
        self._listener.unfinished.pop(self, None)
        inner = self._inner = self._listener.make()
        inner.connection_made(self)
        if plain:
            inner.data_received(plain)

    def _plain(self, tls: ssl.SSLObject) -> bytes:
        """Decrypt the received records. Only a partial record costs an exception."""
        pieces: list[bytes] = []
        incoming, read = self._listener.incoming, tls.read
        try:
            while incoming.pending:
                piece = read(RECORD)
                if not piece:  # The client said goodbye.
                    incoming.read()
                    self.close()
                    break
                pieces.append(piece)
        except ssl.SSLWantReadError:
            pass
        return b"".join(pieces)

    def _fits(self, records: bytes) -> bool:
        """True if an expected ClientHello in these records does not announce more than the limit."""
        at = 0
        while self._missing is not None and at < len(records) and records[at] in _RECORDS:
            size = int.from_bytes(records[at + 3 : at + 5], "big")
            if records[at] == _HANDSHAKE:
                if not self._missing:
                    announced = int.from_bytes(records[at + 6 : at + 9], "big")
                    if size < 4 or announced > MAX_CLIENT_HELLO:
                        return False
                    self._missing = announced + 4
                self._missing = max(0, self._missing - size) or None
            at += 5 + size
        return True

    def _flush(self) -> bytes:
        data = self._listener.outgoing.read()
        if self._transport is not None and data:
            self._transport.write(data)
        return data

    def _give_up(self) -> None:
        """Send the alert for a client that breaks TLS, and close."""
        self._closing = True
        self._listener.incoming.read()
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _whole(data: bytes) -> int:
    """The number of bytes in whole records; all of them if they are not records."""
    at = 0
    while at < len(data) and data[at] in _RECORDS:
        if len(data) < at + 5:
            return at
        end = at + 5 + int.from_bytes(data[at + 3 : at + 5], "big")
        if end > len(data):
            return at
        at = end
    return len(data)
