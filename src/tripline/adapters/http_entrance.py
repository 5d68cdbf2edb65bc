"""The entrance of an HTTP listener: who may come in, counted from the first packet on, before TLS and HTTP.

At a full listener, who was served nothing for longest gives way. Who comes when everybody is busy, or its own address
is full, gets 503 where HTTP is spoken at once, and is hung up on where TLS comes first, or where too many wait for that
answer. Not here: what is said inside (`http_connection.py`).
"""

import asyncio
import ipaddress
from collections.abc import Callable
from typing import Final, Protocol, cast

import msgspec

from tripline import metrics
from tripline.adapters.http_bounds import Bounds, Causes, Places
from tripline.wire import addresses

LOBBY: Final = 64
"""How many of those who are turned away may wait for their answer, at one listener."""
LOBBY_S: Final = 2.0
"""How long they may take to ask."""


class GivesWay(Protocol):
    """A connection that is not busy."""

    @property
    def since(self) -> float:
        """When it was last served, or connected; seconds of the loop's clock."""

    def abort(self) -> None:
        """Close at once."""


class Listener(msgspec.Struct, kw_only=True):
    """What the connections of one listener share."""

    name: str
    bounds: Bounds
    causes: Causes
    of_address: Places
    """Connections of each address, over all listeners."""
    make: Callable[[], asyncio.Protocol]
    """Makes what is inside: HTTP, or TLS and HTTP in it."""
    turned_away: Callable[[], bytes] | None
    """The answer for whom there is no room; None: TLS comes first."""
    longest: tuple[Callable[[], GivesWay | None], ...]
    """Of each kind of connections that are not busy, the one that was served nothing for longest."""
    open: dict["Entrance", None] = msgspec.field(default_factory=dict)
    lobby: int = 0

    def has_room(self, address: str, *, local: bool) -> bool:
        """Whether one more may come in, after another has given way if need be; `local`: it is on this machine."""
        bounds = self.bounds
        if len(self.open) < bounds.connections:
            return True
        self.causes.tell("connections", limit=bounds.connections, address=address)
        waiting = [each for longest in self.longest if (each := longest()) is not None]
        if waiting:
            min(waiting, key=lambda each: each.since).abort()
            return True
        return local and not bounds.behind_proxy and len(self.open) < bounds.connections + bounds.local


def _is_local(address: str) -> bool:
    """Whether only a peer on this machine has this address."""
    try:
        read = ipaddress.ip_address(address)
    except ValueError:
        return False
    return (getattr(read, "ipv4_mapped", None) or read).is_loopback


class Entrance(asyncio.Protocol):
    """The protocol of a socket; passes on what happens to the one inside."""

    __slots__ = ("_address", "_counted", "_gauge", "_in_lobby", "_inner", "_listener", "_timer", "_transport")

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._inner: asyncio.Protocol | None = None
        self._transport: asyncio.Transport | None = None
        self._address = addresses.UNKNOWN
        self._counted = False
        self._in_lobby = False
        self._timer: asyncio.TimerHandle | None = None
        self._gauge = metrics.connections_of(listener.name)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A peer connected."""
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self._address = addresses.form(peer[0]) if peer else addresses.UNKNOWN
        listener = self._listener
        if not (listener.bounds.behind_proxy or listener.of_address.take(self._address)):
            listener.causes.tell("address_connections", limit=listener.of_address.share, address=self._address)
        elif not listener.has_room(self._address, local=bool(peer) and _is_local(peer[0])):
            if not listener.bounds.behind_proxy:
                listener.of_address.give(self._address)
        else:
            self._counted = True
            listener.open[self] = None
            self._gauge.inc()
            self._inner = listener.make()
            self._inner.connection_made(transport)
            return
        if listener.turned_away is None or listener.lobby >= LOBBY:
            self._transport.abort()
            return
        # A socket that is closed with unread bytes would take back the answer: the question comes first.
        listener.lobby += 1
        self._in_lobby = True
        self._timer = asyncio.get_running_loop().call_later(LOBBY_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._inner is not None:
            self._inner.data_received(data)
        elif self._transport is not None and self._listener.turned_away and not self._transport.is_closing():
            self._transport.write(self._listener.turned_away())
            self._transport.close()

    def eof_received(self) -> bool | None:
        """The peer sends nothing more."""
        return None if self._inner is None else self._inner.eof_received()

    def pause_writing(self) -> None:
        """Too much is unsent."""
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        """It was sent."""
        if self._inner is not None:
            self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        listener = self._listener
        if self._timer is not None:
            self._timer.cancel()
        if self._in_lobby:
            listener.lobby -= 1
        if self._counted:
            del listener.open[self]
            self._gauge.dec()
            if not listener.bounds.behind_proxy:
                listener.of_address.give(self._address)
        if self._inner is not None:
            self._inner.connection_lost(exc)

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()
