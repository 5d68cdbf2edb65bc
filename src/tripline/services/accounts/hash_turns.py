"""Places and turns of requests for a password hash: a flood of strangers leaves room for known requesters.

Half of the places belong to requesters who proved who they are, now or earlier: signed in, with a mailed link, or from
an address where an account signed in lately. Strangers have the other half and every fourth turn. Within each of the
two groups addresses take turns. Where a group has no place left, the address or account with most places gives up its
oldest one, so that a newcomer always gets in.

Accounts are counted by the name that was sent, so an account that does not exist is treated like one that does.

Not here: the hashes (`passwords.py`), the known addresses (`known_addresses.py`).
"""

import asyncio
import collections
import itertools
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from tripline.domain.refusals import TryLater

KNOWN_IN_A_ROW: Final = 3
"""Turns of known requesters before a stranger who waits has one."""


class TooManyLogins(TryLater):
    """The waiting room for password hashes is full."""

    code = "login.too_many"


class Requester(msgspec.Struct, frozen=True):
    """Who needs a hash: the account that was named, the address in the form for counting."""

    account: str
    address: str
    known: bool


class Place(msgspec.Struct, frozen=True, eq=False):
    """A place in the queue; `turn` is done when its turn comes. Later ones have greater numbers."""

    number: int
    requester: Requester
    turn: asyncio.Future[None]


class Group:
    """Places of known requesters, or of strangers."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, deque[Place]] = OrderedDict()
        """By address, the one whose turn is next first."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Place]:
        return (place for places in self._of.values() for place in places)

    def add(self, place: Place) -> None:
        """Add a place behind the others of its address."""
        self._of.setdefault(place.requester.address, deque()).append(place)
        self._size += 1

    def remove(self, place: Place) -> None:
        """Take a place out, if it is still here."""
        places = self._of.get(place.requester.address)
        if places is not None and place in places:
            places.remove(place)
            self._size -= 1
            if not places:
                del self._of[place.requester.address]

    def next(self) -> Place:
        """Take out the place whose turn it is."""
        address, places = next(iter(self._of.items()))
        place = places[0]
        self.remove(place)
        if places:
            self._of.move_to_end(address)
        return place

    def largest(self) -> Place:
        """The oldest place of the address or account that has most."""
        addresses = collections.Counter(place.requester.address for place in self)
        accounts = collections.Counter(place.requester.account for place in self)

        def rank(place: Place) -> tuple[int, int]:
            of_one = max(addresses[place.requester.address], accounts[place.requester.account])
            return of_one, -place.number

        return max(self, key=rank)


class HashTurns:
    """Decides who computes a hash next, `workers` at a time, while up to `waiting` others wait."""

    def __init__(self, *, workers: int, waiting: int) -> None:
        self._free = workers
        self._waiting = max(waiting, 2)
        self._share = self._waiting // 2
        """Places that strangers may have."""
        self._known, self._strangers = Group(), Group()
        self._in_a_row = 0
        self._numbers = itertools.count()

    @asynccontextmanager
    async def turn(self, requester: Requester) -> AsyncIterator[None]:
        """Wait for a turn and hold it. Raises `TooManyLogins`."""
        await self._wait(requester)
        try:
            yield
        finally:
            self._end_turn()

    async def _wait(self, requester: Requester) -> None:
        group = self._known if requester.known else self._strangers
        place = Place(next(self._numbers), requester, asyncio.get_running_loop().create_future())
        group.add(place)
        self._give_turns()
        if len(self._strangers) > self._share:
            self._give_up_place(self._strangers)
        elif len(self._known) + len(self._strangers) > self._waiting:
            self._give_up_place(self._known)
        try:
            await place.turn
        except asyncio.CancelledError:
            group.remove(place)
            # The turn may have come in the same moment.
            if not place.turn.cancelled() and place.turn.exception() is None:
                self._end_turn()
            raise

    def _end_turn(self) -> None:
        self._free += 1
        self._give_turns()

    def _give_turns(self) -> None:
        while self._free and (self._known or self._strangers):
            place = self._next_group().next()
            if not place.turn.done():
                self._free -= 1
                place.turn.set_result(None)

    def _give_up_place(self, group: Group) -> None:
        place = group.largest()
        group.remove(place)
        if not place.turn.done():
            place.turn.set_exception(TooManyLogins(after_s=1))

    def _next_group(self) -> Group:
        if self._known and (not self._strangers or self._in_a_row < KNOWN_IN_A_ROW):
            self._in_a_row += bool(self._strangers)
            return self._known
        self._in_a_row = 0
        return self._strangers
