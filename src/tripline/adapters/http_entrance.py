"""The entrance of an HTTP door: who may come in, counted from the first packet on, before TLS and HTTP.

Who comes when the door or its own address is full gets 503 where HTTP is spoken at once, and is hung up on where TLS
comes first, or where too many wait for that answer. Not here: what is said inside (`http_connection.py`).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, cast

from tripline import observe
from tripline.adapters.http_bounds import Bounds, Causes, Places
from tripline.wire import addresses

LOBBY: Final = 64
"""How many of those who are turned away may wait for their answer, at one door."""
LOBBY_S: Final = 2.0
"""How long they may take to ask."""


@dataclass(slots=True, kw_only=True)
class Door:
    """What the connections of one door share."""

    name: str
    bounds: Bounds
    causes: Causes
    of_address: Places
    """Connections of each address, over all doors."""
    make: Callable[[], asyncio.Protocol]
    """Makes what is inside: HTTP, or TLS and HTTP in it."""
    turned_away: Callable[[], bytes] | None
    """The answer for whom there is no room; None: TLS comes first."""
    open: dict["Entrance", None] = field(default_factory=dict)
    lobby: int = 0


class Entrance(asyncio.Protocol):
    """The protocol of a socket; passes on what happens to the one inside."""

    __slots__ = ("_address", "_counted", "_door", "_gauge", "_in_lobby", "_inner", "_timer", "_transport")

    def __init__(self, door: Door) -> None:
        self._door = door
        self._inner: asyncio.Protocol | None = None
        self._transport: asyncio.Transport | None = None
        self._address = addresses.UNKNOWN
        self._counted = False
        self._in_lobby = False
        self._timer: asyncio.TimerHandle | None = None
        self._gauge = observe.CONNECTIONS.labels(door.name)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A peer connected."""
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self._address = addresses.form(peer[0]) if peer else addresses.UNKNOWN
        door = self._door
        if len(door.open) >= door.bounds.connections:
            door.causes.tell("connections", limit=door.bounds.connections, address=self._address)
        elif not (door.bounds.behind_proxy or door.of_address.take(self._address)):
            door.causes.tell("address_connections", limit=door.of_address.share, address=self._address)
        else:
            self._counted = True
            door.open[self] = None
            self._gauge.inc()
            self._inner = door.make()
            self._inner.connection_made(transport)
            return
        if door.turned_away is None or door.lobby >= LOBBY:
            self._transport.abort()
            return
        # A socket that is closed with unread bytes would take back the answer: the question comes first.
        door.lobby += 1
        self._in_lobby = True
        self._timer = asyncio.get_running_loop().call_later(LOBBY_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._inner is not None:
            self._inner.data_received(data)
        elif self._transport is not None and self._door.turned_away and not self._transport.is_closing():
            self._transport.write(self._door.turned_away())
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
        door = self._door
        if self._timer is not None:
            self._timer.cancel()
        if self._in_lobby:
            door.lobby -= 1
        if self._counted:
            del door.open[self]
            self._gauge.dec()
            if not door.bounds.behind_proxy:
                door.of_address.give(self._address)
        if self._inner is not None:
            self._inner.connection_lost(exc)

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()
