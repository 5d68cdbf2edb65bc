"""Weighted items by holder. The oldest item of the holder with the greatest weight makes room for newcomers.

Every operation takes the same short time for any number of items.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

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
        """Remove the item, if present."""
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
