"""Connections that are not admitted yet, by address: unfinished TLS, and no accepted CONNECT.

They share two limits with all others: the open connections of the listener, and the bytes of their CONNECTs (one may be
long, because of its Will). When a limit is reached, the address with the largest share loses its oldest newcomer. No
address has a fixed limit, because a whole fleet may share one; admitted devices do not count.
"""

import asyncio
from typing import Final

from tripline.gateway.shares import Shares
from tripline.wire import addresses

MAX_HELD: Final = 33_554_432
"""Bytes of CONNECTs, whole or in part, and of packets after them."""
FREE: Final = 1_024
"""Bytes of each connection that do not count: the CONNECT of a device is shorter."""


class Newcomers:
    """The transports of connections that are not admitted yet."""

    def __init__(self, limit: int = MAX_HELD) -> None:
        self.limit = limit
        self._open: Shares[asyncio.Transport] = Shares()
        self._bytes: Shares[asyncio.Transport] = Shares(rank=_kibibytes)

    @property
    def held(self) -> int:
        """Bytes that count."""
        return self._bytes.total

    def add(self, transport: asyncio.Transport) -> None:
        """Count a new connection."""
        self._open.put(transport, address_of(transport), 1)

    def note(self, transport: asyncio.Transport, size: int) -> None:
        """Record the bytes that the connection buffers now. Ends others, or this one, if the total is too large."""
        if size <= FREE:
            self._bytes.drop(transport)
            return
        self._bytes.put(transport, address_of(transport), size - FREE)
        while self._bytes.total > self.limit:
            self._end(self._bytes.oldest_of_largest())

    def make_room(self) -> None:
        """End the oldest newcomer of the address with most of them."""
        self._end(self._open.oldest_of_largest())

    def forget(self, transport: asyncio.Transport) -> None:
        """Remove a connection that is admitted or closed."""
        self._open.drop(transport)
        self._bytes.drop(transport)

    def _end(self, transport: asyncio.Transport | None) -> None:
        if transport is not None:
            self.forget(transport)
            transport.abort()


def _kibibytes(size: int) -> int:
    return (size + 1_023) // 1_024


def address_of(transport: asyncio.BaseTransport) -> str:
    """The address of the peer in the form for counting."""
    peer = transport.get_extra_info("peername")
    return addresses.form(peer[0]) if peer else addresses.UNKNOWN
