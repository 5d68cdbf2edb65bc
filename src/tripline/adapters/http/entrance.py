"""The entrance of an HTTP listener: admission of connections, counted from the first packet on, before TLS and HTTP.

At a full listener the address with most connections gives one up (`places.py`). A peer that finds no room gets 503
where HTTP is spoken at once, and is hung up on where TLS comes first.
"""

import asyncio
import ipaddress
from collections.abc import Callable
from typing import Final, cast

import msgspec

from tripline import metrics
from tripline.adapters.http.bounds import Bounds
from tripline.adapters.http.places import Place, Places
from tripline.wire import addresses

LOBBY: Final = 64
"""Number of rejected peers that may wait for their answer, per listener."""
LOBBY_S: Final = 2.0
"""How long they may take to ask."""


class Listener(msgspec.Struct, kw_only=True):
    """State that the connections of one listener share."""

    name: str
    bounds: Bounds
    of_address: Places
    """Connections of each address, over all listeners."""
    places: Places
    """Connections of this listener."""
    lobby: Places
    """Peers that wait for their refusal."""
    make: Callable[[], asyncio.Protocol]
    """Makes the inner protocol: HTTP, or TLS with HTTP in it."""
    turned_away: Callable[[], bytes] | None
    """The refusal; None: TLS comes first."""
    open: dict["Entrance", None] = msgspec.field(default_factory=dict)


def place_of(transport: asyncio.Transport) -> Place:
    """The place of an open connection, given the transport of its socket or of TLS on it."""
    entrance = transport.get_protocol()
    assert isinstance(entrance, Entrance)
    assert entrance.place is not None
    return entrance.place


def _is_local(address: str) -> bool:
    """True for an address that only peers on this machine can have."""
    try:
        read = ipaddress.ip_address(address)
    except ValueError:
        return False
    return (getattr(read, "ipv4_mapped", None) or read).is_loopback


class Entrance(asyncio.Protocol):
    """The protocol of a socket; passes its events on to the protocol inside."""

    __slots__ = ("_counted", "_gauge", "_inner", "_listener", "_timer", "_transport", "place")

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._inner: asyncio.Protocol | None = None
        self._transport: asyncio.Transport | None = None
        self.place: Place | None = None
        """Its place among the connections of the listener, or in the lobby."""
        self._counted: Place | None = None
        """Its place among the connections of its address."""
        self._timer: asyncio.TimerHandle | None = None
        self._gauge = metrics.CONNECTIONS.labels(listener.name)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        address = addresses.form(peer[0]) if peer else addresses.UNKNOWN
        listener = self._listener
        if self._has_room(address, local=bool(peer) and _is_local(peer[0])):
            listener.open[self] = None
            self._gauge.inc()
            self._inner = listener.make()
            self._inner.connection_made(transport)
            return
        if listener.turned_away is not None:
            self.place = listener.lobby.take(address, ends=self._give_way)
        if self.place is None:
            self._transport.abort()
            return
        # A socket that is closed with unread bytes would take back the answer: the question comes first.
        self._timer = asyncio.get_running_loop().call_later(LOBBY_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        if self._inner is not None:
            self._inner.data_received(data)
        elif self._transport is not None and self._listener.turned_away and not self._transport.is_closing():
            self._transport.write(self._listener.turned_away())
            self._transport.close()

    def eof_received(self) -> bool | None:
        return None if self._inner is None else self._inner.eof_received()

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._counted is not None:
            self._counted.leave()
        if self.place is not None:
            self.place.leave()
        if self._inner is not None:
            del self._listener.open[self]
            self._gauge.dec()
            self._inner.connection_lost(exc)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _has_room(self, address: str, *, local: bool) -> bool:
        """Come in, after another connection has given way if need be; `local`: the peer is on this machine."""
        listener, bounds = self._listener, self._listener.bounds
        if not bounds.behind_proxy:
            self._counted = listener.of_address.take(address)
            if self._counted is None:
                return False
        beyond = bounds.local if local and not bounds.behind_proxy else 0
        self.place = listener.places.take(address, ends=self._give_way, beyond=beyond)
        if self.place is None and self._counted is not None:
            self._counted.leave()
        return self.place is not None

    def _give_way(self, gently: bool) -> bool:
        """Close at once, unless the peer still reads an answer and is to lose nothing."""
        if self._transport is None or (gently and self._transport.get_write_buffer_size()):
            return False
        self._transport.abort()
        return True
