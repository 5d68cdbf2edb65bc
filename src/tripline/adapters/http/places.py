"""A bound shared by addresses: how much each holds, and whose item ends when it is full.

No address holds more than its share. When all of it is taken, the address that holds most, the newcomer counted with
its claim, gives up its longest-standing item, so a newcomer that holds less always finds room. Of its items those at
rest go first; those at work only for an address that holds less.

Counters alone; no I/O.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import msgspec

from tripline.adapters.http.bounds import met

SEARCHED: Final = 8
"""Holders that are searched for an item that can give way."""
LOOKED_AT: Final = 64
"""Items of a holder that may decline before it is passed over."""

Ends: TypeAlias = Callable[[bool], bool]
"""Ends the item; False: not now. Gently (True), it ends only where its peer loses nothing."""


class _Holder(msgspec.Struct, eq=False):
    """The items of an address, in the order in which they give way."""

    address: str
    number: int = 0
    resting: dict["Place", None] = {}
    busy: dict["Place", None] = {}


class Place:
    """The part of a bound that one item takes, until `leave`."""

    __slots__ = ("_among", "_ends", "_places", "holder", "number")

    def __init__(self, places: "Places", holder: _Holder, number: int, ends: Ends | None) -> None:
        self._places = places
        self._among: dict[Place, None] | None = None if ends is None else holder.resting
        if self._among is not None:
            self._among[self] = None
        self.holder: _Holder | None = holder
        self.number = number
        self._ends = ends

    def rest(self) -> None:
        """Give way first from now on, behind the others of the address that rest."""
        if self.holder is not None:
            self._join(self.holder.resting)
            if self.number == self.holder.number:
                self._places.defer(self.holder)

    def work(self) -> None:
        """Give way only to an address that holds less."""
        if self.holder is not None:
            self._join(self.holder.busy)

    def keep(self) -> None:
        """Give way no more."""
        self._join(None)

    def grow(self, number: int) -> bool:
        """Take more. False: no room, or this very item has to give way."""
        if self.holder is None or not self._places.make_room(self.holder, number, growing=self):
            return False
        self.number += number
        return True

    def move(self, address: str) -> None:
        """Count for another address, beyond its share if need be."""
        if self.holder is not None and self.holder.address != address:
            self._join(None)
            self._places.add(self.holder, -self.number)
            self.holder = self._places.holder_of(address)
            self._places.add(self.holder, self.number)

    def leave(self) -> None:
        """Give it back; once is enough."""
        if self.holder is not None:
            self._join(None)
            self._places.add(self.holder, -self.number)
            self.holder = self._ends = None  # the item refers to its place

    def end(self, *, gently: bool) -> bool:
        """Give it back and end the item, if that is possible now."""
        ended = self._ends is not None and self._ends(gently)
        if ended:
            self.leave()
        return ended

    def _join(self, among: "dict[Place, None] | None") -> None:
        if self._among is not None:
            del self._among[self]
        self._among = among
        if among is not None:
            among[self] = None


class Places:
    """One bound: `total` of all addresses, `share` of each; `cause` is its name in the log."""

    def __init__(self, cause: str, total: int, share: int) -> None:
        self.total = total
        self.share = share
        self.taken = 0
        self._cause = cause
        self._of: dict[str, _Holder] = {}
        self._levels: dict[int, dict[_Holder, None]] = {}
        """Holders by how much they hold."""

    def take(self, address: str, number: int = 1, ends: Ends | None = None, *, beyond: int = 0) -> Place | None:
        """A place for an item of the address, which rests; None: no room. Without `ends` it never gives way.

        `beyond`: how much more than the total this item may find taken.
        """
        holder = self.holder_of(address)
        if not self.make_room(holder, number, beyond=beyond):
            return None
        return Place(self, holder, number, ends)

    def make_room(self, holder: _Holder, number: int, *, growing: Place | None = None, beyond: int = 0) -> bool:
        """Count so many more for the holder, after others have given way if need be; False without room."""
        if holder.number + number > self.share:
            met(f"address_{self._cause}", limit=self.share, address=holder.address)
            return False
        while self.taken + number > self.total:
            ended = self._end_one(holder, holder.number + number, growing)
            met(self._cause, limit=self.total, address=(ended or holder).address)
            if ended is None:
                if self.taken + number <= self.total + beyond:
                    break
                return False
        self.add(holder, number)
        return True

    def holder_of(self, address: str) -> _Holder:
        return self._of.get(address) or _Holder(address)

    def add(self, holder: _Holder, number: int) -> None:
        """Count so many more, or less, for the holder."""
        self.taken += number
        self._off(holder)
        holder.number += number
        if holder.number:
            self._of[holder.address] = holder
            self._levels.setdefault(holder.number, {})[holder] = None
        else:
            del self._of[holder.address]

    def defer(self, holder: _Holder) -> None:
        """Let the holder give way behind others that hold as much."""
        level = self._levels[holder.number]
        if len(level) > 1:
            del level[holder]
            level[holder] = None

    def _off(self, holder: _Holder) -> None:
        if level := self._levels.get(holder.number):
            level.pop(holder, None)
            if not level:
                del self._levels[holder.number]

    def _end_one(self, newcomer: _Holder, claim: int, growing: Place | None) -> _Holder | None:
        """End an item of the heaviest holder that can give way, down to the newcomer, which then holds `claim`; whose
        it was."""
        for holder in self._heaviest(newcomer, claim):
            for place in [*itertools.islice(holder.resting, LOOKED_AT)]:
                if place is growing:
                    return None
                if place.end(gently=True):
                    return holder
            if holder is newcomer or holder.number == claim:
                continue
            for place in [*itertools.islice(itertools.chain(holder.busy, holder.resting), LOOKED_AT)]:
                if place.end(gently=False):
                    return holder
        return None

    def _heaviest(self, newcomer: _Holder, claim: int) -> Iterator[_Holder]:
        """Holders of at least the claim, the heaviest first, the newcomer last."""
        levels = self._levels
        searched = (holder for level in heapq.nlargest(SEARCHED, levels) if level >= claim for holder in levels[level])
        for holder in [*itertools.islice(searched, SEARCHED)]:
            if holder is not newcomer:
                yield holder
        yield newcomer
