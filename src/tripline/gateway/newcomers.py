"""Connections that are not admitted yet, by address: unfinished TLS, and no accepted CONNECT.

They share two limits with all others: the open connections of the listener, and the bytes of their CONNECTs (one may be
long, because of its Will). When a limit is reached, the address with the largest share loses its oldest newcomer. No
address has a fixed limit, because a whole fleet may share one; admitted devices do not count.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from tripline.wire import addresses

Item = TypeVar("Item", bound=Hashable)


class Shares(Generic[Item]):
    """Weights are whole numbers above 0. `rank`: holders whose weights have the same rank count as equal."""

    def __init__(self, rank: Callable[[int], int] = int) -> None:
        self.total = 0
        self._rank = rank
        self._holders: dict[Item, str] = {}
        self._items: dict[str, OrderedDict[Item, int]] = {}
        """By holder, oldest first."""
        self._weights: dict[str, int] = {}
        self._ranks: dict[int, OrderedDict[str, None]] = {}
        """Holders by rank, the one with the longest time at this rank first."""
        self._top = 0
        """No holder has a higher rank."""

    def put(self, item: Item, holder: str, weight: int) -> None:
        """Add an item, or change its weight; its age stays."""
        items = self._items.setdefault(holder, OrderedDict())
        change = weight - items.get(item, 0)
        items[item] = weight
        self._holders[item] = holder
        self._change(holder, change)

    def drop(self, item: Item) -> None:
        holder = self._holders.pop(item, None)
        if holder is not None:
            items = self._items[holder]
            self._change(holder, -items.pop(item))
            if not items:
                del self._items[holder]

    def oldest_of_largest(self) -> Item | None:
        """The oldest item of the holder with the greatest weight; None without items."""
        while self._top and self._top not in self._ranks:
            self._top -= 1
        if not self._top:
            return None
        return next(iter(self._items[next(iter(self._ranks[self._top]))]))

    def _change(self, holder: str, by: int) -> None:
        before = self._weights.get(holder, 0)
        after = before + by
        self.total += by
        if after:
            self._weights[holder] = after
        else:
            del self._weights[holder]
        former, rank = self._rank(before), self._rank(after)
        if former == rank:
            return
        if former:
            holders = self._ranks[former]
            del holders[holder]
            if not holders:
                del self._ranks[former]
        if rank:
            self._ranks.setdefault(rank, OrderedDict())[holder] = None
            self._top = max(self._top, rank)


MAX_HELD: Final = 33_554_432
"""Bytes of CONNECTs, whole or in part, and of packets after them."""
FREE: Final = 1_024
"""Bytes of each connection that do not count: the CONNECT of a device is shorter."""


class Newcomers:
    """The transports of connections that are not admitted yet."""

    def __init__(self) -> None:
        self.limit = MAX_HELD
        self._open: Shares[asyncio.Transport] = Shares()
        self._bytes: Shares[asyncio.Transport] = Shares(rank=lambda size: (size + 1_023) // 1_024)

    @property
    def held(self) -> int:
        return self._bytes.total

    def add(self, transport: asyncio.Transport) -> None:
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


def address_of(transport: asyncio.BaseTransport) -> str:
    """The address of the peer in the form for counting."""
    peer = transport.get_extra_info("peername")
    return addresses.form(peer[0]) if peer else addresses.UNKNOWN
